// `npm run bench`: compares the built service with its floors. See docs/performance.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { nameBuild } from './build-name.mjs';
import { startLoad } from './load.mjs';
import { before } from './scenarios/before.mjs';
import { commandLine } from './scenarios/command-line.mjs';
import { encryption } from './scenarios/encryption.mjs';
import { imports } from './scenarios/imports.mjs';
import { keystone } from './scenarios/keystone.mjs';
import { lists } from './scenarios/lists.mjs';
import { postgres } from './scenarios/postgres.mjs';
import { memory, size, start } from './scenarios/process.mjs';
import { reads } from './scenarios/reads.mjs';
import { writes } from './scenarios/writes.mjs';
import { checks, zones } from './scenarios/zones.mjs';
import { OUTPUT, ROOT } from './service.mjs';
import { formatMarkdown, formatTable } from './table.mjs';

const SCENARIOS = {
  reads,
  lists,
  writes,
  zones,
  checks,
  imports,
  encryption,
  keystone,
  postgres,
  start,
  'command-line': commandLine,
  memory,
  size,
};

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    before: { type: 'string' },
    only: { type: 'string', multiple: true },
    profile: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const names = values.only ?? (values.before === undefined ? Object.keys(SCENARIOS) : []);
const unknown = names.filter((name) => !Object.hasOwn(SCENARIOS, name));
if (values.help || unknown.length > 0) {
  process.stdout
    .write(`npm run bench -- [--quick] [--only NAME]... [--before PROGRAM] [--profile] [--strict]

  --quick    run one short round of each scenario, in less than a minute; only large differences are significant
  --only     run one scenario; repeat the flag for more scenarios: ${Object.keys(SCENARIOS).join(', ')}
  --before   compare with another build of the service, such as ../older/dist/main.js; without --only, run no other scenario
  --profile  write CPU profiles of the service to var/bench/profiles; profiling slows the service down
  --strict   exit with status 2 if a target is missed
`);
  process.exit(unknown.length > 0 ? 1 : 0);
}

const program = values.before === undefined ? undefined : resolve(values.before);
const build = nameBuild(join(ROOT, 'dist/main.js'));
const beforeName = program === undefined ? undefined : nameBuild(program);
const heading = beforeName === undefined ? build : `${build}, against ${beforeName}`;
const load = startLoad();
const bench = {
  load,
  quick: values.quick,
  /** The path of the other build's program, or undefined without `--before`. */
  before: program,
  beforeName,
  seconds: values.quick ? 0.2 : 2,
  rounds: values.quick ? 1 : 3,
  /** Returns the name of a scenario's CPU profile, or undefined without `--profile`. */
  profileOf: (name) => (values.profile ? name : undefined),
};
const began = performance.now();
const rows = [];
const chosen = names.map((name) => [name, SCENARIOS[name]]);
if (values.before !== undefined) chosen.push(['before', before]);
for (const [name, scenario] of chosen) {
  process.stderr.write(`${name} ...\n`);
  const began = performance.now();
  rows.push(...(await scenario(bench)).map((row) => ({ scenario: name, ...row })));
  process.stderr.write(`${name}: ${Math.round((performance.now() - began) / 1000)} s\n`);
}
load.stop();

process.stdout.write(`${heading}\n\n${formatTable(rows)}\n`);
mkdirSync(OUTPUT, { recursive: true });
const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model };
const result = {
  at: new Date().toISOString(),
  build,
  before: beforeName,
  quick: values.quick,
  machine,
  seconds: (performance.now() - began) / 1000,
  rows,
};
writeFileSync(join(OUTPUT, 'result.json'), `${JSON.stringify(result, undefined, 2)}\n`);
writeFileSync(join(OUTPUT, 'result.md'), `${heading}\n\n${formatMarkdown(rows)}\n`);
const missed = rows.filter(({ met }) => met === false).length;
const noisy = rows.filter((row) => row.noisy).length;
process.stdout.write(
  `\n${Math.round(result.seconds)} s; ${missed} targets missed; ${noisy} rows too noisy; details in ${join(OUTPUT, 'result.json')}\n`,
);
process.exit(values.strict && missed > 0 ? 2 : 0);
