import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import fc from 'fast-check';
import { readPowerdns } from '../../src/keys/commands/powerdns.ts';
import type { ServerConfiguration } from '../../src/access/access.ts';
import { readKnotAccess } from '../../src/brands/knot/access.ts';
import { readNsdAccess } from '../../src/brands/nsd/access.ts';
import { knotKey } from '../../src/brands/knot/brand.ts';
import { exportKey } from '../../src/keys/export/export-formats.ts';
import type { Key } from '../../src/formats/key.ts';
import type { Brand } from './brands/brand.ts';
import { knot } from './brands/knot.ts';
import { nsd } from './brands/nsd.ts';
import { powerdns } from './brands/powerdns.ts';
import type { DrivenServer } from './driven-server.ts';
import { SECRET } from './samples.ts';

export const NAMES = ['k1', 'k2.example', 'k3.example'];
export const KEYS: readonly Key[] = NAMES.map((name) => ({
  name,
  algorithm: 'hmac-sha256',
  secret: SECRET,
}));
export const SOURCES = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];

/** Up to `maxLength` of the values, without a bias to few. */
const some = <T>(values: readonly T[], maxLength = values.length, minLength = 0) =>
  fc
    .integer({ min: minLength, max: maxLength })
    .chain((length) => fc.shuffledSubarray([...values], { minLength: length, maxLength: length }));
const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const list = (values: readonly string[]) => `[${values.join(', ')}]`;
const item = (name: string, values: readonly string[]) =>
  values.length === 0 ? '' : `    ${name}: ${list(values)}\n`;

/** A brand with random access lists. */
export interface Search {
  readonly brand: Brand;
  /** The keys in the lists. */
  readonly keys: readonly Key[];
  /** Returns the configuration of a server with these zones, and writes what else it needs. */
  configure(
    seed: number,
    zones: readonly string[],
    folder: string,
    port: number,
    controlPort: number,
  ): string;
  /** The name of the configuration file. */
  readonly file: string;
  read(text: string, server: DrivenServer): Promise<ServerConfiguration> | ServerConfiguration;
}

const KNOT_ADDRESSES = [
  '127.0.0.1',
  '127.0.0.2/31',
  '127.0.0.1-127.0.0.3',
  '127.0.0.3-127.0.0.9',
  '127.0.0.0/8',
  '0.0.0.0/0',
  '10.0.0.0/8',
  '::1',
  '::/0',
];
const KNOT_RULES = Array.from({ length: 16 }, (_, index) => `rule-${index + 1}`);
const KNOT_REMOTES = ['remote-1', 'remote-2', 'remote-3', 'remote-4'];

const knotRemote = fc.record({
  addresses: fc.uniqueArray(oneOf('127.0.0.1@1', '127.0.0.2', '127.0.0.3@1', '::1'), {
    minLength: 1,
    maxLength: 2,
  }),
  key: oneOf(undefined, ...NAMES),
  off: fc.boolean(),
});
const knotRule = fc.record({
  remotes: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: some([...KNOT_REMOTES, 'group'], 2) },
  ),
  addresses: fc.oneof(fc.constant([]), some(KNOT_ADDRESSES, 2)),
  keys: some(NAMES, 2),
  actions: fc.oneof(
    fc.constant(['transfer', 'update']),
    some(['transfer', 'update', 'notify', 'query']),
  ),
  deny: oneOf('', '', '    deny: on\n', '    deny: off\n'),
  limit: oneOf('', '', '', '', '', '    update-type: [TXT]\n', '    update-owner: key\n'),
});
const knotZone = fc.record({
  rules: some(KNOT_RULES, 4),
  notify: some([...KNOT_REMOTES, 'group'], 1),
  template: oneOf('', '', '    template: other\n'),
});
const knotConfiguration = (zones: number) =>
  fc.record({
    remotes: fc.tuple(...KNOT_REMOTES.map(() => knotRemote)),
    rules: fc.tuple(...KNOT_RULES.map(() => knotRule)),
    templates: fc.tuple(knotZone, knotZone),
    zones: fc.array(knotZone, { minLength: zones, maxLength: zones }),
    automatic: oneOf('on', 'off'),
  });

export const knotSearch: Search = {
  brand: knot,
  keys: KEYS,
  file: 'knot.conf',
  configure(seed, zones, folder, port) {
    const [random] = fc.sample(knotConfiguration(zones.length), { seed, numRuns: 1 });
    if (random === undefined) throw new Error('no sample');
    const accessOf = ({ rules, notify }: { rules: string[]; notify: string[] }) =>
      item('acl', rules) + item('notify', notify);
    const sections = [
      `server:\n    rundir: "${folder}"\n    listen: 127.0.0.1@${port}\n    automatic-acl: ${random.automatic}\n`,
      `database:\n    storage: "${folder}"\n`,
      'key:\n',
      ...KEYS.map(knotKey),
      'remote:\n',
      ...random.remotes.map(
        ({ addresses, key, off }, index) =>
          `  - id: remote-${index + 1}\n${item('address', addresses)}${key === undefined ? '' : `    key: ${key}\n`}${off ? '    automatic-acl: off\n' : ''}`,
      ),
      'remotes:\n  - id: group\n    remote: [remote-1, remote-2]\n',
      'acl:\n',
      ...random.rules.map(({ remotes, addresses, keys, actions, deny, limit }, index) => {
        const isUpdate = actions.includes('update') && keys.length > 0 && remotes.length === 0;
        return `  - id: rule-${index + 1}\n${
          remotes.length > 0
            ? item('remote', remotes)
            : item('address', addresses) + item('key', keys)
        }${item('action', actions)}${deny}${isUpdate ? limit : ''}`;
      }),
      'template:\n',
      `  - id: default\n${accessOf(random.templates[0])}`,
      `  - id: other\n${accessOf(random.templates[1])}`,
      'zone:\n',
      ...random.zones.map(
        (zone, index) =>
          `  - domain: ${zones[index]}\n${zone.template}    storage: "${folder}"\n    file: ${zones[index]}.zone\n${accessOf(zone)}`,
      ),
    ];
    return sections.join('');
  },
  read: (text) => readKnotAccess(text),
};

const NSD_ADDRESSES = [
  '127.0.0.1',
  '127.0.0.2/31',
  '127.0.0.1-127.0.0.3',
  '127.0.0.4&255.0.0.6',
  '127.0.0.0/8',
  '127.0.0.0&255.255.255.252',
  '0.0.0.0/0',
  '0.0.0.0/0',
  '10.0.0.0/8',
  '::1',
  '::/0',
];
const NSD_PATTERNS = Array.from({ length: 8 }, (_, index) => `pattern-${index + 1}`);

const nsdLine = fc.tuple(oneOf(...NSD_ADDRESSES), oneOf(...NAMES, ...NAMES, 'NOKEY', 'BLOCKED'));
const nsdLines = fc
  .array(nsdLine, { maxLength: 4 })
  .map((lines) => lines.map(([address, who]) => `    provide-xfr: ${address} ${who}\n`).join(''));
const nsdZone = fc.record({ lines: nsdLines, patterns: some(NSD_PATTERNS, 2) });
const nsdConfiguration = (zones: number) =>
  fc.record({
    patterns: fc.tuple(...NSD_PATTERNS.map(() => nsdZone)),
    zones: fc.array(nsdZone, { minLength: zones, maxLength: zones }),
  });

export const nsdSearch: Search = {
  brand: nsd,
  keys: KEYS,
  file: 'nsd.conf',
  configure(seed, zones, folder, port) {
    const [random] = fc.sample(nsdConfiguration(zones.length), { seed, numRuns: 1 });
    if (random === undefined) throw new Error('no sample');
    const include = (patterns: readonly string[]) =>
      patterns.map((pattern) => `    include-pattern: ${pattern}\n`).join('');
    nsd.configure(folder, port, 0, []);
    return [
      readFileSync(join(folder, 'nsd.conf'), 'utf8').replace(/^include:.*\n/m, ''),
      ...KEYS.map((key) => exportKey('nsd', key).text),
      ...random.patterns.map(
        ({ lines, patterns }, index) =>
          `pattern:\n    name: pattern-${index + 1}\n${lines}${include(patterns.filter((each) => NSD_PATTERNS.indexOf(each) < index))}`,
      ),
      ...random.zones.map(
        ({ lines, patterns }, index) =>
          `zone:\n    name: ${zones[index]}\n    zonefile: ${zones[index]}.zone\n${include(patterns.slice(1))}${lines}${include(patterns.slice(0, 1))}`,
      ),
    ].join('');
  },
  read: (text) => readNsdAccess(text),
};

const POWERDNS_ADDRESSES = [
  '127.0.0.1',
  '127.0.0.2/31',
  '127.0.0.0/30',
  '127.0.0.0/8',
  '0.0.0.0/0',
  '0.0.0.0/0',
  '10.0.0.0/8',
  '::1',
  '::/0',
];
const POWERDNS_EXCLUDED = ['!127.0.0.3', '!127.0.0.2/31', '!127.0.0.0/8'];

const powerdnsZone = fc.record({
  'TSIG-ALLOW-AXFR': some(['k1', 'k1.', 'K2.Example.', 'k3.example'], 2),
  'ALLOW-AXFR-FROM': fc.oneof(fc.constant([]), some(POWERDNS_ADDRESSES, 2)),
  'TSIG-ALLOW-DNSUPDATE': some(['k1.', 'K2.Example', 'k3.example.'], 2),
  'ALLOW-DNSUPDATE-FROM': some([...POWERDNS_ADDRESSES, ...POWERDNS_EXCLUDED], 3),
});
const powerdnsConfiguration = (zones: number) =>
  fc.record({
    'allow-axfr-ips': some([...POWERDNS_ADDRESSES, ...POWERDNS_EXCLUDED], 2),
    'allow-dnsupdate-from': some([...POWERDNS_ADDRESSES, ...POWERDNS_EXCLUDED], 2),
    dnsupdate: oneOf(['yes'], ['yes'], ['yes'], ['no']),
    zones: fc.array(powerdnsZone, { minLength: zones, maxLength: zones }),
  });

export const powerdnsSearch: Search = {
  brand: powerdns,
  keys: KEYS,
  file: 'pdns.conf',
  configure(seed, zones, folder, port, controlPort) {
    const [random] = fc.sample(powerdnsConfiguration(zones.length), { seed, numRuns: 1 });
    if (random === undefined) throw new Error('no sample');
    const { zones: randomZones, ...settings } = random;
    powerdns.configure(folder, port, controlPort, zones);
    const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
    for (const { name, algorithm, secret } of KEYS)
      database
        .prepare('INSERT INTO tsigkeys (name, algorithm, secret) VALUES (?, ?, ?)')
        .run(name, algorithm, secret);
    for (const [index, metadata] of randomZones.entries())
      for (const [kind, values] of Object.entries(metadata))
        for (const value of values)
          database
            .prepare(
              'INSERT INTO domainmetadata (domain_id, kind, content) SELECT id, ?, ? FROM domains WHERE name = ?',
            )
            .run(kind, value, zones[index] ?? '');
    database.close();
    const lines = Object.entries(settings).map(
      ([name, values]) => `${name}=${values.join(', ')}\n`,
    );
    return readFileSync(join(folder, 'pdns.conf'), 'utf8') + lines.join('');
  },
  async read(_, { folder, controlPort }) {
    const url = `http://127.0.0.1:${controlPort}`;
    const apiKey = readFileSync(join(folder, 'api-key'), 'utf8');
    return (await readPowerdns(url, apiKey)).configuration;
  },
};
