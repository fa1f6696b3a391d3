import { EventEmitter } from 'node:events';
import type { FastifyRequest } from 'fastify';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLongWork } from '../../src/http/admission/admission.ts';
import { writeLongJson } from '../../src/http/long-responses.ts';
import { createSlicer } from '../../src/domain/scheduling/slicer.ts';
import { heldJobs } from '../harness/held-jobs.ts';
import { randomCases } from '../harness/sizes.ts';

/** Returns a fake request of the caller `id`, by default on a separate connection. */
function requestOf(
  id: string,
  socket = Object.assign(new EventEmitter(), { destroyed: false }),
): FastifyRequest {
  return { caller: { id }, raw: { socket } } as unknown as FastifyRequest;
}

describe('requests with many resources', () => {
  test('do not run if the client disconnects while they wait', async () => {
    const run = createLongWork();
    const { began, job, release } = heldJobs();
    const sockets = Array.from({ length: 3 }, () =>
      Object.assign(new EventEmitter(), { destroyed: false }),
    );
    const [first, second, third] = sockets.map((socket, index) =>
      run(requestOf('a', socket), job(`a${index}`)),
    );
    sockets[1]?.emit('close');
    await expect(second).rejects.toMatchObject({ code: 'request_timeout' });
    const gone = Object.assign(new EventEmitter(), { destroyed: true });
    await expect(run(requestOf('b', gone), job('b'))).rejects.toMatchObject({
      code: 'request_timeout',
    });
    await release('a0');
    await release('a2');
    expect([await first, await third]).toEqual(['a0', 'a2']);
    expect(began).toEqual(['a0', 'a2']);
  });
});

test('writeLongJson writes the same JSON as JSON.stringify, for any lists', async () => {
  const items = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(items, items, async (one, other) => {
      const lists = { one: [...one, { long: 'é'.repeat(70_000) }], other };
      const bytes = await writeLongJson(
        createSlicer(() => 0),
        { count: one.length, one: lists.one.values(), other },
      );
      expect(bytes.toString()).toBe(JSON.stringify({ count: one.length, ...lists }));
    }),
    { numRuns: randomCases(30) },
  );
});
