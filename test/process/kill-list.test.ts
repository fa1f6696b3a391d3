import { rmSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { everything, numbered } from '../harness/tlds.ts';

/** From before the list has arrived until after the answer, in milliseconds. */
const MOMENTS = [5, 60, 120, 180, 240, 300, 360, 420, 500, 600, 800, 3000];
const ENTRIES = 4000;

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('kill -9 while a list replaces another: what is there is one of them, whole, and the new one if it was acknowledged', async () => {
  let before: string[] = [];
  let unanswered = 0;
  for (const [round, moment] of MOMENTS.entries()) {
    const service = await startServiceProcess(folder);
    const list = numbered(ENTRIES, `round-${round}`);
    const answer = service.post('/v2/tlds/bulk', { replace: true, tlds: list }).catch(() => undefined);
    const timer = setTimeout(() => service.process.kill('SIGKILL'), moment);
    const status = (await answer)?.status;
    clearTimeout(timer);
    await service.stop('SIGKILL');

    const again = await startServiceProcess(folder);
    const found = (await everything(again)).map(({ name }) => name);
    await again.stop('SIGTERM');
    const wanted = list.map(({ name }) => name);
    if (status === undefined) unanswered += 1;
    else expect(status).toBe(200);
    const possible = status === 200 ? [wanted] : [before, wanted];
    expect(possible.map((each) => each.join()).includes(found.join()), `after ${moment} ms: ${found.length} entries such as ${found[0]}`).toBe(true);
    before = found;
  }
  // Some kills came before the answer, and the last did not.
  expect(unanswered).toBeGreaterThan(2);
  expect(unanswered).toBeLessThan(MOMENTS.length);
  expect(before[0]).toBe(`round-${MOMENTS.length - 1}-0`);
}, 120_000);
