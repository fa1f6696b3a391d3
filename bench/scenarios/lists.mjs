import { databaseWith, tldName } from '../data.mjs';
import { startFloor } from '../floors.mjs';
import { floorRun, interleave, rowOf, underLoad } from '../rounds.mjs';
import { ownToken, sendRequest, startService } from '../service.mjs';

const ROWS = 100_000;

/** Measures pages of 100 out of 100,000 rows. The floor is `JSON.stringify` on the same rows. */
export async function lists(bench) {
  const { setting, rows } = await databaseWith(ROWS);
  const [service, floor] = await Promise.all([
    startService({ database: setting, profile: bench.profileOf('lists') }),
    startFloor('json'),
  ]);
  const headers = await ownToken(service);
  const queries = {
    'first page': 'limit=100',
    'last page': `limit=100&marker=${rows.at(-101).id}`,
    'filtered by a prefix': `limit=100&name=${tldName(500).slice(0, -2)}*`,
    'sorted by name, descending': 'limit=100&sort_key=name&sort_dir=desc',
  };
  const texts = {};
  const parts = {};
  for (const [name, query] of Object.entries(queries)) {
    const path = `/v2/tlds?${query}`;
    const text = await sendRequest(service, 'GET', path);
    if (JSON.parse(text).tlds.length !== 100) throw new Error(`${path} did not return 100 rows`);
    texts[name] = text;
    parts[name] = () =>
      underLoad(bench, service, {
        traffic: 'get',
        args: { paths: [path], bodies: [text] },
        connections: 16,
        headers,
      });
  }
  const { json, ...measured } = await interleave(bench, {
    json: () => floorRun(floor, { text: texts['first page'], seconds: bench.seconds / 2 }),
    ...parts,
  });
  await Promise.all([service.stop(), floor.stop()]);
  return [
    ...Object.keys(queries).map((name) =>
      rowOf({
        name: `list of 100 of 100,000: ${name}`,
        measured: measured[name],
        floor: json,
        target: { atMost: name === 'filtered by a prefix' ? 7 : 4.5 },
      }),
    ),
    rowOf({
      name: 'list: last page against first',
      measured: measured['last page'],
      floor: measured['first page'],
      target: { atMost: 1.2 },
    }),
  ];
}
