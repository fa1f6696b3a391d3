import { databaseWith, tldName } from '../data.mjs';
import { interleave, rowOf, underLoad } from '../rounds.mjs';
import { ownToken, sendRequest, startService } from '../service.mjs';

const COUNTS = [0, 1500, 100_000];
const CHECKED = 1000;

/** Measures zone creations with 0, 1,500 and 100,000 TLD entries. */
export async function zones(bench) {
  const services = [];
  const parts = {};
  for (const count of COUNTS) {
    const service = await startService({
      database: (await databaseWith(count)).setting,
      profile: bench.profileOf(`zones-${count}`),
    });
    const headers = await ownToken(service, 'bench');
    const tlds = Array.from({ length: 100 }, (_, number) =>
      tldName(Math.floor((number * Math.max(count, 100)) / 100)),
    );
    services.push(service);
    parts[count] = () => underLoad(bench, service, { traffic: 'zones', args: { tlds }, headers });
  }
  const measured = await interleave(bench, parts);
  const rows = COUNTS.map((count) =>
    rowOf({
      name: `zone create with ${count} TLD entries`,
      measured: measured[count],
      service: services[COUNTS.indexOf(count)],
      ...(count === 100_000 ? { floor: measured[1500], target: { atMost: 1.1 } } : {}),
    }),
  );
  await Promise.all(services.map((service) => service.stop()));
  return rows;
}

/** Measures checks of 1,000 zone names under different TLD entries, with 100,000 entries. */
export async function checks(bench) {
  const service = await startService({
    database: (await databaseWith(100_000)).setting,
    profile: bench.profileOf('checks'),
  });
  const names = Array.from(
    { length: CHECKED },
    (_, number) => `zone-${number}.${tldName(number * 97)}.`,
  );
  const expected = await sendRequest(service, 'POST', '/v2/tlds/check', { names });
  if (!JSON.parse(expected).checks.every(({ allowed }) => allowed))
    throw new Error('POST /v2/tlds/check refused a name');
  const { measured } = await interleave(bench, {
    measured: () =>
      underLoad(bench, service, {
        traffic: 'post',
        args: { path: '/v2/tlds/check', body: JSON.stringify({ names }), expected },
        connections: 4,
      }),
  });
  const perName = measured.map(({ rate, cpu, ...latency }) => ({
    rate: rate * CHECKED,
    cpu: cpu / CHECKED,
    ...latency,
  }));
  const target = { atLeast: 200_000, unit: 'names/s', of: 'rate' };
  const row = rowOf({
    name: 'tlds/check, 1,000 names of 100,000 entries',
    measured: perName,
    metric: 'rate',
    service,
    target,
  });
  await service.stop();
  return [row];
}
