// `node bench/soak.mjs`: sends half of the full load for 20 minutes, or for the number of minutes
// in `--minutes`. Writes the measurements to var/bench/soak.json, and a plot to
// docs/images/soak.svg.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { databaseWith } from './data.mjs';
import { startLoad } from './load.mjs';
import { descriptors } from './processes.mjs';
import { median } from './rounds.mjs';
import { OUTPUT, ownToken, ROOT, sendRequest, startService } from './service.mjs';
import { plotSoak } from './soak-plot.mjs';

const CONNECTIONS = 32;
const SLICE_SECONDS = 10;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' } } });
const { setting, rows } = await databaseWith(10_000);
const service = await startService({ database: setting });
const load = startLoad();
const headers = await ownToken(service);
const paths = rows.slice(0, 100).map(({ id }) => `/v2/tlds/${id}`);
const list = { path: `/v2/tlds?limit=20&sort_key=name&name=${rows[0].name.slice(0, -2)}*` };
list.body = await sendRequest(service, 'GET', list.path);
const bodies = await Promise.all(paths.map((path) => sendRequest(service, 'GET', path)));
const job = {
  url: service.url,
  headers,
  traffic: 'mixed',
  args: { paths, bodies, list },
  connections: CONNECTIONS,
};

const full = await load.send({ ...job, seconds: SLICE_SECONDS });
const rate = Math.round(full.requests / full.seconds / 2);
process.stderr.write(
  `full load is ${rate * 2} requests per second; running ${values.minutes} minutes at ${rate} requests per second\n`,
);
const slices = [];
const began = performance.now();
while (performance.now() - began < Number(values.minutes) * 60_000) {
  const cpu = service.cpu();
  const { requests, seconds, p50, p99 } = await load.send({ ...job, seconds: SLICE_SECONDS, rate });
  const minute = (performance.now() - began) / 60_000;
  slices.push({
    minute,
    rate: requests / seconds,
    p50,
    p99,
    cpu: (service.cpu() - cpu) / requests,
    memoryMb: service.memory(),
    descriptors: descriptors(service.pid),
  });
  service.emptyLog();
  save();
}
load.stop();
await service.stop();

const part = (member, from, to) =>
  median(
    slices
      .slice(Math.floor(slices.length * from), Math.ceil(slices.length * to))
      .map((slice) => slice[member]),
  );
const change = (member) => part(member, 0.75, 1) / part(member, 0.25, 0.5);
for (const [name, member] of Object.entries({
  memory: 'memoryMb',
  p99: 'p99',
  descriptors: 'descriptors',
})) {
  process.stdout.write(
    `${name}: ${part(member, 0.25, 0.5).toFixed(1)} in the second quarter, ${part(member, 0.75, 1).toFixed(1)} in the last quarter (ratio ${change(member).toFixed(2)})\n`,
  );
}
process.exit(0);

/** Writes all measurements so far, so that an interrupted run has a result. */
function save() {
  mkdirSync(OUTPUT, { recursive: true });
  writeFileSync(
    join(OUTPUT, 'soak.json'),
    `${JSON.stringify({ at: new Date().toISOString(), rate, connections: CONNECTIONS, slices }, undefined, 2)}\n`,
  );
  mkdirSync(join(ROOT, 'docs/images'), { recursive: true });
  writeFileSync(join(ROOT, 'docs/images/soak.svg'), plotSoak({ rate, slices }));
}
