import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../core/errors.ts';
import { eachInSlices, type Slicer } from '../core/scheduling/slicer.ts';
import { connectionSignal } from './admission/admission.ts';
import { LINES_TYPE } from './request/errors.ts';
import { signedIn } from './request/guard.ts';
import { running } from './request/routes.ts';

/** The Accept header must name JSON lines: `*` selects JSON. */
export function acceptsLines({ method, headers }: FastifyRequest): boolean {
  if (method !== 'GET' || headers.accept === undefined) return false;
  return headers.accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === LINES_TYPE && !parameters.some((each) => /^q=0(?:\.0*)?$/.test(each));
  });
}

/** The maximum number of responses in JSON lines at a time. One caller gets one of them. */
const MAX_STREAMS = 2;

/** How long a refused caller should wait before a retry, in seconds. */
const RETRY_AFTER_SECONDS = 10;

/** A function that sends the values that `begin` yields as JSON lines. */
export type SendLines = (
  request: FastifyRequest,
  reply: FastifyReply,
  begin: () => AsyncIterable<readonly object[]>,
) => Promise<FastifyReply>;

/**
 * Returns the function that sends JSON lines. It requests the next part once the caller has read
 * the previous one, so that memory holds at most two parts, and lets other requests run between
 * parts. It stops when the caller disconnects. Throws the error of the first part, if any, and
 * `too_many_requests`. A later error ends the connection before the end of the response.
 */
export function createLineSender(): SendLines {
  const callers = new Set<string>();
  return async (request, reply, begin) => {
    const { id } = signedIn(request);
    const [isOwn, isFull] = [callers.has(id), callers.size >= MAX_STREAMS];
    if (isOwn || isFull)
      throw new ServiceError(
        'too_many_requests',
        `${isOwn ? 'You already read' : 'Two other callers read'} a response in JSON lines. Wait for its end, or read pages instead`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    callers.add(id);
    const end = () => callers.delete(id);
    const iterator = begin()[Symbol.asyncIterator]();
    const first = await iterator.next().catch((error: unknown) => {
      end();
      throw error;
    });
    // Otherwise a slow caller would use a database connection until it has read the whole response.
    request.releaseConnection?.();
    const signal = connectionSignal(request.raw.socket);
    const stream = Readable.from(linesOf(request.server, first, iterator, signal), {
      objectMode: false,
    });
    stream.once('close', end);
    return reply.header('content-type', LINES_TYPE).send(stream);
  };
}

async function* linesOf(
  app: FastifyInstance,
  first: IteratorResult<readonly object[]>,
  rest: AsyncIterator<readonly object[]>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  try {
    // Many parts may be empty. Without the signal, the loop would read all of them after a
    // disconnect.
    for (
      let part = first;
      part.done !== true && !signal.aborted;
      part = await running(app, rest.next())
    ) {
      const text = part.value.map((value) => `${JSON.stringify(value)}\n`).join('');
      if (text !== '') yield text;
      await nextTurn(); // neither the database nor a fast reader makes this loop wait
    }
  } finally {
    if (rest.return !== undefined) await running(app, rest.return());
  }
}

/** How many characters of JSON are encoded at a time. */
const CHUNK_LENGTH = 65_536;

/** The lists of `object` may be any iterables, and are written one item at a time. */
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

/** Returns how many of the first texts fit into a JSON array, at least 1 if there are any. */
export function countFitting(texts: readonly string[], maxBytes: number): number {
  let bytes = '[]'.length;
  for (const [index, text] of texts.entries()) {
    bytes += Buffer.byteLength(text) + (index === 0 ? 0 : ','.length);
    if (bytes > maxBytes) return Math.max(index, 1);
  }
  return texts.length;
}

/** A UTF-16 code unit has at most three bytes in UTF-8. */
export function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}
