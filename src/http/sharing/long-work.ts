import type { FastifyRequest } from 'fastify';
import { createFairQueue } from '../../domain/scheduling/fair-queue.ts';
import { createSlicer, eachInSlices, type Slicer } from '../../domain/scheduling/slicer.ts';
import { connectionSignal } from './connection-signal.ts';
import { signedIn } from '../request/guard.ts';

/**
 * A function that runs the work of a request about many resources and returns its result. Rejects
 * with `unavailable` if the queue of waiting requests is full. Rejects with `request_timeout` if
 * the caller disconnects before the work begins.
 */
export type RunLongWork = <T>(
  request: FastifyRequest,
  work: (slicer: Slicer) => Promise<T>,
) => Promise<T>;

/**
 * Each request uses up to one slice of every turn of the event loop, and up to 50 MB. One caller
 * cannot run two requests at the same time. The limits on waiting requests equal those of the body
 * budget, which bounds the bytes of large bodies.
 */
const LIMITS = { concurrency: 2, concurrencyPerOwner: 1, maxWaitingPerOwner: 64, maxWaiting: 256 };

/**
 * Runs the work of two requests at a time, in slices. Callers are served in rotation. A request
 * whose caller disconnects does not begin.
 */
export function createLongWork(): RunLongWork {
  const queue = createFairQueue(LIMITS);
  return (request, work) => {
    // Otherwise requests in this queue could use all database connections of the caller.
    request.releaseConnection?.();
    return queue.run(
      signedIn(request).id,
      () => work(newSlicer()),
      connectionSignal(request.raw.socket),
    );
  };
}

/** Returns a slicer whose first slice begins now. */
export function newSlicer(): Slicer {
  return createSlicer(() => performance.now());
}

/** How many characters of JSON are encoded at a time. */
const CHUNK_LENGTH = 65_536;

/**
 * Writes the JSON of an object in slices. The object's lists may be any iterables, and are written
 * one item at a time.
 */
export async function writeLongJson(slicer: Slicer, object: object): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let text = '';
  const members: [string, unknown][] = Object.entries(object);
  for (const [name, member] of members) {
    text += `${text === '' && chunks.length === 0 ? '{' : ','}${JSON.stringify(name)}:`;
    if (!isIterable(member)) {
      text += JSON.stringify(member);
      continue;
    }
    text += '[';
    let separator = '';
    await eachInSlices(slicer, member, (item) => {
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

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}
