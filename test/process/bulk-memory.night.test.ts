import { afterEach, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { startAttackedService, type AttackedService } from '../limits/service.ts';
import { clientFor } from '../harness/zones.ts';

let service: AttackedService;
afterEach(async () => {
  expect(await service.stop()).toEqual({ code: 0, faults: [] });
});

/** A list of 20,000 entries in 1.8 MB. */
const LIST = JSON.stringify({
  dry_run: true,
  tlds: Array.from({ length: 20_000 }, (_, index) => ({
    name: `name-${index}.example`,
    description: 'd'.repeat(45),
  })),
});

/**
 * Sends lists, with the tokens of `callers` in rotation. Returns the number of responses by status.
 */
async function sendLists(
  callers: readonly Client[],
  count: number,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const send = async (caller: Client | undefined) => {
    const { status, headers } = (await caller?.post('/v2/tlds/bulk', LIST)) ?? {
      status: 0,
      headers: new Headers(),
    };
    counts[status] = (counts[status] ?? 0) + 1;
    if (status === 503) expect(headers.get('retry-after')).toBe('1');
  };
  await Promise.all(
    Array.from({ length: count }, (_, index) => send(callers[index % callers.length])),
  );
  return counts;
}

test('200 for 40 concurrent dry runs of 1.8 MB with a heap of 256 MB, by one or 40 callers', async () => {
  expect(LIST.length).toBeGreaterThan(1_800_000);
  // However slow the machine is, a body that waits for its turn is not cut off.
  const variables = { TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '300' };
  service = await startAttackedService({ heapMb: 256, variables });
  expect(await sendLists([service], 40)).toEqual({ 200: 40 });
  const callers: Client[] = [];
  for (let number = 0; number < 40; number += 1) callers.push(await clientFor(service, ['admin']));
  expect(await sendLists(callers, 40)).toEqual({ 200: 40 });
  expect(service.isRunning()).toBe(true);
}, 300_000);
