import { expect, test } from 'vitest';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';
import { allEntries, numbered } from '../harness/tlds.ts';

const ENTRIES = 4000;

/** How many times as many other requests the next round answers before the kill. */
const GROWTH = 2;

const folder = temporaryFolder();

/** Kills the service after it has answered `count` other requests. */
async function killAfter(service: ServiceProcess, count: number): Promise<void> {
  for (let answered = 0; answered < count; answered += 1) await service.get('/healthcheck');
  service.process.kill('SIGKILL');
}

test('kill -9 during a replacement leaves the complete old or new list, and always the new list after an acknowledgement', async () => {
  let before: string[] = [];
  let rounds = 0;
  let status: number | undefined;
  // Each kill is later than the one before, until a response comes before the kill.
  for (let others = 0; status === undefined; others = Math.ceil((others + 1) * GROWTH)) {
    rounds += 1;
    const service = await startServiceProcess(folder);
    const list = numbered(ENTRIES, `round-${rounds}`);
    const response = service.post('/v2/tlds/bulk', { replace: true, tlds: list }).then(
      (answer) => answer.status,
      () => undefined,
    );
    // The kill may have come before the last of the other requests.
    const killed = killAfter(service, others).catch(() => undefined);
    status = await response;
    await service.stop('SIGKILL');
    await killed;

    const again = await startServiceProcess(folder);
    const found = (await allEntries(again)).map(({ name }) => name);
    await again.stop('SIGTERM');
    const wanted = list.map(({ name }) => name);
    const possible = status === undefined ? [before, wanted] : [wanted];
    expect(
      possible.map((each) => each.join()).includes(found.join()),
      `after ${others} requests: ${found.length} entries such as ${found[0]}`,
    ).toBe(true);
    before = found;
  }
  expect(status).toBe(200);
  expect(rounds).toBeGreaterThan(1);
}, 120_000);
