import { expect, test } from 'vitest';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { sized } from '../harness/sizes.ts';
import { allEntries, numbered } from '../harness/tlds.ts';

/**
 * The times of the kills, as multiples of the duration of a replacement without a kill. The first
 * kill comes before the list arrives, and the last kill long after the response.
 */
const KILL_TIMES = [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 20].filter(
  (_, index) => index % sized(3, 2) === 0,
);
const ENTRIES = 4000;

const folder = temporaryFolder();

/**
 * Replaces the list twice in a new service. Returns the duration of the second replacement in
 * milliseconds.
 */
async function undisturbed(): Promise<number> {
  let took = 0;
  for (const name of ['first', 'second']) {
    const service = await startServiceProcess(folder);
    const started = performance.now();
    const { status } = await service.post('/v2/tlds/bulk', {
      replace: true,
      tlds: numbered(ENTRIES, name),
    });
    took = performance.now() - started;
    expect(status).toBe(200);
    await service.stop('SIGTERM');
  }
  return took;
}

test('kill -9 during a replacement leaves the complete old or new list, and always the new list after an acknowledgement', async () => {
  const whole = await undisturbed();
  let before = numbered(ENTRIES, 'second').map(({ name }) => name);
  let withoutResponse = 0;
  for (const [round, part] of KILL_TIMES.entries()) {
    const service = await startServiceProcess(folder);
    const list = numbered(ENTRIES, `round-${round}`);
    const response = service
      .post('/v2/tlds/bulk', { replace: true, tlds: list })
      .catch(() => undefined);
    const timer = setTimeout(() => service.process.kill('SIGKILL'), part * whole);
    const status = (await response)?.status;
    clearTimeout(timer);
    await service.stop('SIGKILL');

    const again = await startServiceProcess(folder);
    const found = (await allEntries(again)).map(({ name }) => name);
    await again.stop('SIGTERM');
    const wanted = list.map(({ name }) => name);
    if (status === undefined) withoutResponse += 1;
    else expect(status).toBe(200);
    const possible = status === 200 ? [wanted] : [before, wanted];
    expect(
      possible.map((each) => each.join()).includes(found.join()),
      `after ${part} of ${whole} ms: ${found.length} entries such as ${found[0]}`,
    ).toBe(true);
    before = found;
  }
  // At least three kills came before the response, and the last kill came after the response.
  expect(withoutResponse).toBeGreaterThan(2);
  expect(withoutResponse).toBeLessThan(KILL_TIMES.length);
  expect(before[0]).toBe(`round-${KILL_TIMES.length - 1}-0`);
}, 120_000);
