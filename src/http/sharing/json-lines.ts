import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LINES_TYPE } from '../request/errors.ts';
import { connectionSignal } from './connection-signal.ts';

/**
 * Returns whether a GET request accepts JSON lines. The Accept header must name the type: `*`
 * selects JSON.
 */
export function acceptsLines({ method, headers }: FastifyRequest): boolean {
  if (method !== 'GET' || headers.accept === undefined) return false;
  return headers.accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === LINES_TYPE && !parameters.some((each) => /^q=0(?:\.0*)?$/.test(each));
  });
}

/**
 * Sends values as JSON lines. Requests the next part once the caller has read the previous one, so
 * that memory holds at most two parts. Stops when the caller disconnects. Throws the error of the
 * first part, if any. A later error ends the connection before the end of the response.
 */
export async function sendLines(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: AsyncIterable<readonly object[]>,
): Promise<FastifyReply> {
  const iterator = parts[Symbol.asyncIterator]();
  const first = await iterator.next();
  // Otherwise a slow caller would use a database connection until it has read the whole response.
  request.releaseConnection?.();
  return reply.header('content-type', LINES_TYPE).send(
    Readable.from(linesOf(first, iterator, connectionSignal(request.raw.socket)), {
      objectMode: false,
    }),
  );
}

async function* linesOf(
  first: IteratorResult<readonly object[]>,
  rest: AsyncIterator<readonly object[]>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  try {
    // Many parts may be empty. Without the signal, the loop would read all of them after a
    // disconnect.
    for (let part = first; part.done !== true && !signal.aborted; part = await rest.next()) {
      const text = part.value.map((value) => `${JSON.stringify(value)}\n`).join('');
      if (text !== '') yield text;
    }
  } finally {
    await rest.return?.();
  }
}
