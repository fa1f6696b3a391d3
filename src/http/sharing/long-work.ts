import type { FastifyRequest } from 'fastify';
import { createFairQueue } from '../../domain/scheduling/fair-queue.ts';
import { createSlicer, eachInSlices, type Slicer } from '../../domain/scheduling/slicer.ts';
import { connectionSignal } from './connection-signal.ts';
import { signedIn } from '../request/guard.ts';

/**
 * Runs the work of a request about many resources, and returns what it returns. Rejects with `unavailable` when too many requests wait,
 * and with `request_timeout` when the caller leaves before the work begins.
 */
export type RunLongWork = <T>(request: FastifyRequest, work: (slicer: Slicer) => Promise<T>) => Promise<T>;

/**
 * Each request takes up to one slice of every turn of the event loop, and up to 50 MB. One caller cannot take both places.
 * As many requests may wait as for the budget of request bodies, which bounds the bytes of the large ones.
 */
const LIMITS = { concurrency: 2, concurrencyPerOwner: 1, maxWaitingPerOwner: 64, maxWaiting: 256 };

/** Runs work in slices, a few requests at a time. Callers are served in turn, and a request whose caller leaves does not begin. */
export function createLongWork(): RunLongWork {
  const queue = createFairQueue(LIMITS);
  return (request, work) => {
    request.releaseConnection?.(); // else requests that wait here would leave none of the caller's connections for its other requests
    return queue.run(signedIn(request).id, () => work(createSlicer(() => performance.now())), connectionSignal(request.raw.socket));
  };
}

/** How many characters of JSON become bytes at a time. */
const CHUNK_LENGTH = 65_536;

/** The JSON of an object with `members`, of which there is at least one, and long `lists`, made in slices. */
export async function writeLongJson(slicer: Slicer, members: object, lists: Readonly<Record<string, Iterable<object>>>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let text = JSON.stringify(members).slice(0, -1);
  for (const [name, items] of Object.entries(lists)) {
    text += `,${JSON.stringify(name)}:[`;
    let separator = '';
    await eachInSlices(slicer, items, (item) => {
      text += separator + JSON.stringify(item);
      separator = ',';
      if (text.length < CHUNK_LENGTH) return;
      chunks.push(Buffer.from(text));
      text = '';
    });
    text += ']';
  }
  return Buffer.concat([...chunks, Buffer.from(`${text}}`)]);
}
