import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { readBindAccess } from '../../../src/brands/bind/access.ts';
import { bind } from './bind.ts';
import { zoneText } from '../driven-server.ts';
import { recordSecret } from '../evidence.ts';
import type { Search } from '../random-access.ts';

export const KEYS = ['k1', 'k2', 'k3', 'undefined'].map((name) => {
  const secret = randomBytes(32).toString('base64');
  recordSecret(secret);
  return { name, algorithm: 'hmac-sha256', secret };
});
export const SOURCES = ['127.0.0.1', '127.0.0.2', '127.0.0.5', '127.1.0.1'];
export const ZONES = Array.from({ length: 8 }, (_, index) => `z${index}.test`);

const acls = ['a1', 'a2', 'a3'];

/** Returns elements of an address match list, which name only the first `named` lists. */
const lists = (depth: number, named: number): fc.Arbitrary<string> => {
  const leaf = fc.constantFrom(
    'any',
    'none',
    'localhost',
    'localnets',
    '127.0.0.1',
    '127.0.0.2',
    '127.0.0.0/30',
    '127.0/16',
    '127.1.0.1',
    '::1',
    'key k1',
    'key "K2."',
    'key k3',
    'key undefined',
    'key k1',
    'key k2',
    ...acls.slice(0, named),
  );
  const inner =
    depth === 0 ? leaf : fc.oneof({ weight: 3, arbitrary: leaf }, lists(depth - 1, named));
  const element = fc.tuple(fc.boolean(), inner).map(([no, text]) => `${no ? '! ' : ''}${text}; `);
  return fc.array(element, { minLength: 1, maxLength: 4 }).map((all) => `{ ${all.join('')}}`);
};

const policies = fc
  .array(
    fc
      .tuple(
        fc.constantFrom('grant', 'grant', 'deny'),
        fc.constantFrom('k1', 'k2', 'k3', '*'),
        fc.constantFrom(
          'zonesub ANY',
          'zonesub',
          'name probe.z0.test TXT',
          'wildcard *.z1.test ANY',
        ),
      )
      .map((words) => `${words.join(' ')}; `),
    { minLength: 1, maxLength: 3 },
  )
  .map((rules) => `update-policy { ${rules.join('')}};`);

/** Lists that usually permit their keys from everywhere. */
const plainLists = fc
  .subarray(['key k1', 'key "K2."', 'key k3', ...acls], { minLength: 1, maxLength: 2 })
  .map((elements) => `{ ${elements.join('; ')}; }`);
const list = fc.oneof(lists(2, 3), plainLists);
const optional = (name: string) =>
  fc.option(list, { nil: '' }).map((text) => text && `${name} ${text};`);
const transfers = optional('allow-transfer');
const updates = fc.oneof({ weight: 3, arbitrary: optional('allow-update') }, policies);
const defaults = fc.tuple(transfers, optional('allow-update')).map((both) => both.join(' '));
const scope = fc.record({
  defaults,
  clients: lists(1, 3),
  zones: fc.tuple(...ZONES.map(() => fc.tuple(transfers, updates).map((both) => both.join(' ')))),
});
export const configurations = fc.record({
  options: defaults,
  acls: fc.tuple(
    ...acls.map((name, index) => lists(1, index).map((text) => `acl ${name} ${text};`)),
  ),
  scopes: fc.oneof(fc.tuple(scope), fc.tuple(scope, scope)),
});

/** Returns a configuration without the end of its last clause, `options`. */
export function textOf({
  options,
  acls: statements,
  scopes,
}: typeof configurations extends fc.Arbitrary<infer T> ? T : never): string {
  const keyText = KEYS.slice(0, 3).map(
    ({ name, secret }) => `key ${name} { algorithm hmac-sha256; secret "${secret}"; };\n`,
  );
  const zonesOf = (zones: readonly string[], view: number) =>
    zones
      .map(
        (text, index) =>
          `zone "${ZONES[index] ?? ''}" { type primary; file "v${view}.z${index}"; ${text} };\n`,
      )
      .join('');
  const [only, second] = scopes;
  const content =
    second === undefined
      ? zonesOf(only.zones, 0)
      : scopes
          .map(
            ({ defaults: own, clients, zones }, view) =>
              `view v${view} { match-clients ${clients}; ${own}\n${view === 1 ? (keyText[2] ?? '') : ''}${zonesOf(view === 0 ? zones.slice(0, 6) : zones, view)}};\n`,
          )
          .join('');
  return `${keyText.slice(0, second === undefined ? 3 : 2).join('')}${content}${statements.join('\n')}
options { ${options}`;
}

/** Writes the zones of a random configuration, and `named.conf` with the rest of its options. */
export function writeBind(folder: string, text: string, port: number, controlPort: number): void {
  for (const view of [0, 1])
    for (const [index, zone] of ZONES.entries())
      writeFileSync(join(folder, `v${view}.z${index}`), zoneText(zone));
  writeFileSync(
    join(folder, 'named.conf'),
    `${text}
  directory "${folder}"; pid-file none; lock-file none; session-keyfile "${folder}/session.key";
  listen-on port ${port} { any; }; listen-on-v6 { none; }; recursion no; notify no; dnssec-validation no;
};
key rndc-key { algorithm hmac-sha256; secret "${randomBytes(32).toString('base64')}"; };
controls { inet 127.0.0.1 port ${controlPort} allow { any; } keys { rndc-key; }; };
`,
  );
}

/** BIND with random lists of `ZONES`. */
export const bindSearch: Search = {
  brand: bind,
  keys: KEYS,
  zones: ZONES,
  sources: SOURCES,
  block: /^(?:acl|key|zone) /,
  configure(seed, _zones, folder, port, controlPort) {
    const [random] = fc.sample(configurations, { seed, numRuns: 1 });
    if (random === undefined) throw new Error('no sample');
    writeBind(folder, textOf(random), port, controlPort);
    return readFileSync(join(folder, 'named.conf'), 'utf8');
  },
  read: (text) => readBindAccess(text),
};
