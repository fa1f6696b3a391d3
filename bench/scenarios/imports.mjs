import { databaseWith, tldName } from '../data.mjs';
import { startFloor } from '../floors.mjs';
import { interleave, rowOf } from '../rounds.mjs';
import { startService } from '../service.mjs';

const COUNT = 10_000;
const FIRST_NUMBER = 5_000_000;

/**
 * Measures an import of 10,000 TLD entries in one request. The floor inserts the same number of
 * rows in one transaction.
 */
export async function imports(bench) {
  const [{ setting }, { path }] = [await databaseWith(1000), await databaseWith(1000)];
  const [service, floor] = await Promise.all([
    startService({ database: setting, profile: bench.profileOf('imports') }),
    startFloor('sqlite', path),
  ]);
  try {
    let list = 0;
    const send = async (count) => {
      const tlds = Array.from({ length: count }, (_, number) => ({
        name: tldName(FIRST_NUMBER + list * COUNT + number),
        description: 'A benchmark entry',
      }));
      list += 1;
      const headers = { ...service.headers, 'content-type': 'application/json' };
      const body = JSON.stringify({ tlds });
      const [before, began] = [service.cpu(), performance.now()];
      const response = await fetch(`${service.url}/v2/tlds/bulk`, {
        method: 'POST',
        headers,
        body,
      });
      const text = await response.text();
      const seconds = (performance.now() - began) / 1000;
      return { status: response.status, text, seconds, cpu: service.cpu() - before };
    };
    const probe = await send(1);
    if ([404, 405].includes(probe.status)) {
      process.stderr.write(
        `SKIPPED: this service has no POST /v2/tlds/bulk (it returned ${probe.status})\n`,
      );
      return [];
    }
    const { raw, measured } = await interleave(bench, {
      async raw() {
        const { seconds, cpu } = await floor.run({ batch: COUNT });
        return { rate: 1 / seconds, cpu };
      },
      async measured() {
        const { status, text, seconds, cpu } = await send(COUNT);
        const added = status === 200 ? JSON.parse(text).counts.added : 0;
        if (added !== COUNT)
          throw new Error(`The import returned ${status}: ${text.slice(0, 300)}`);
        return { rate: 1 / seconds, cpu, p50: seconds * 1000 };
      },
    });
    return [
      rowOf({
        name: 'bulk import of 10,000 TLDs',
        measured,
        floor: raw,
        service,
        target: { atMost: 3 },
      }),
    ];
  } finally {
    await Promise.all([service.stop(), floor.stop()]);
  }
}
