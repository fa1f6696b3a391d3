import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Key } from '../../src/dns/tsig-key.ts';
import { bind } from './brands/bind.ts';
import type { Brand } from './brands/brand.ts';
import { knot } from './brands/knot.ts';
import { nsd } from './brands/nsd.ts';
import { powerdns } from './brands/powerdns.ts';
import { recordSecret } from './evidence.ts';

/** The zones of hand-made servers. */
export const HAND_ZONES = ['a.test', 'b.test', 'c.test', 'd.test'];

/** The keys of hand-made servers. */
export const HAND_KEYS = Array.from({ length: 30 }, (_, index): Key => {
  const secret = randomBytes(32).toString('base64');
  recordSecret(secret);
  return { name: `k${index + 1}`, algorithm: 'hmac-sha256', secret };
});

const MANY = HAND_KEYS.slice(4).map(({ name }) => name);

/**
 * A server whose operator has made its keys and lists. If it has a file of Tsigil's, the
 * configuration does not include it.
 */
export interface HandMade extends Brand {
  /** The main configuration file. */
  readonly main: string;
}

const LISTS: Readonly<Record<string, string>> = {
  'a.test': `allow-transfer { secondaries; ${MANY.map((name) => `key ${name};`).join(' ')} 127.0.0.9; };
  allow-update { key k3; };`,
  'b.test': 'allow-transfer { key "k4"; 127.0.0.8; };',
  'c.test': '',
  'd.test': `update-policy { grant k5 zonesub ANY; };
  allow-transfer { !{ !127.0.0.16/28; any; }; key k6; };`,
};

const handMadeBind: HandMade = {
  ...bind,
  main: 'named.conf',
  configure(folder, port, controlPort) {
    bind.configure(folder, port, controlPort, HAND_ZONES);
    mkdirSync(join(folder, 'managed'));
    const clauses = HAND_KEYS.map(
      ({ name, algorithm, secret }) =>
        `key "${name}" {\n\talgorithm ${algorithm};\n\tsecret "${secret}";\n};\n`,
    );
    const zones = HAND_ZONES.map(
      (zone) => `zone "${zone}" {
  type primary;
  file "${folder}/${zone}.zone";
  ${LISTS[zone] ?? ''}
};
`,
    );
    const text = readFileSync(join(folder, 'named.conf'), 'utf8')
      .replace(/^include ".*tsigil.conf";\n/m, '')
      .replace(
        'allow-new-zones yes; allow-transfer { "tsigil-transfer"; };',
        `transfers-out 30; managed-keys-directory "${folder}/managed";\n  allow-transfer { key k2; };`,
      );
    const [head = ''] = text.split('zone "a.test"');
    writeFileSync(
      join(folder, 'zones.conf'),
      `${clauses.join('')}acl secondaries {
  key k1;
  key k2;
};
${zones.join('')}`,
    );
    writeFileSync(
      join(folder, 'named.conf'),
      `${head}include "${folder}/zones.conf";
server 192.0.2.9 { keys { "k7"; }; };
`,
    );
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), '');
  },
};

const handMadeKnot: HandMade = {
  ...knot,
  main: 'knot.conf',
  configure(folder, port, controlPort) {
    knot.configure(folder, port, controlPort, HAND_ZONES);
    const text = readFileSync(join(folder, 'knot.conf'), 'utf8');
    const [head = ''] = text.split(/^key:\n/m);
    const keys = HAND_KEYS.map(
      ({ name, algorithm, secret }) =>
        `  - id: ${name}\n    algorithm: ${algorithm}\n    secret: ${secret}\n`,
    );
    const rules = [
      `  - id: many\n    key: [k1, k2, ${MANY.join(', ')}]\n    action: transfer\n`,
      '  - id: changes\n    key: k3\n    action: update\n',
      '  - id: one\n    key: k4\n    action: transfer\n',
      '  - id: local\n    address: 127.0.0.8\n    action: transfer\n',
      '  - id: two\n    key: k2\n    action: transfer\n',
      '  - id: near\n    key: k6\n    address: 127.0.0.16/28\n    action: transfer\n',
    ];
    const lists = ['[many, changes]', '[one, local]', 'two', 'near'];
    const zones = HAND_ZONES.map(
      (zone, index) =>
        `  - domain: ${zone}\n    storage: "${folder}"\n    file: ${zone}.zone\n    acl: ${lists[index] ?? ''}\n`,
    );
    writeFileSync(
      join(folder, 'knot.conf'),
      `${head}key:\n${keys.join('')}acl:\n${rules.join('')}zone:\n${zones.join('')}`,
    );
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), '');
  },
};

const handMadeNsd: HandMade = {
  ...nsd,
  main: 'nsd.conf',
  configure(folder, port, controlPort) {
    nsd.configure(folder, port, controlPort, HAND_ZONES);
    const text = readFileSync(join(folder, 'nsd.conf'), 'utf8');
    const [head = ''] = text.split(/^key:\n/m);
    const keys = HAND_KEYS.map(
      ({ name, algorithm, secret }) =>
        `key:\n    name: "${name}"\n    algorithm: ${algorithm}\n    secret: "${secret}"\n`,
    );
    const permitting = (name: string) =>
      `    provide-xfr: 0.0.0.0/0 ${name}\n    provide-xfr: ::0/0 ${name}\n`;
    const lists = [
      ['k1', 'k2', ...MANY].map(permitting).join(''),
      `${permitting('k4')}    provide-xfr: 127.0.0.8 NOKEY\n`,
      '    include-pattern: "hand-made"\n',
      '    provide-xfr: 127.0.0.16/28 k6\n',
    ];
    const zones = HAND_ZONES.map(
      (zone, index) =>
        `zone:\n    name: ${zone}\n    zonefile: ${zone}.zone\n${lists[index] ?? ''}`,
    );
    writeFileSync(
      join(folder, 'nsd.conf'),
      `${head}${keys.join('')}pattern:\n    name: "hand-made"\n${permitting('k2')}${zones.join('')}`,
    );
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), '');
  },
};

/** PowerDNS, whose operator has made the same keys, with their rights in the metadata of zones. */
export const handMadePowerdns: HandMade = {
  ...powerdns,
  main: 'pdns.conf',
  configure(folder, port, controlPort) {
    powerdns.configure(folder, port, controlPort, HAND_ZONES);
    const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
    const addKey = database.prepare(
      'INSERT INTO tsigkeys (name, algorithm, secret) VALUES (?, ?, ?)',
    );
    for (const { name, algorithm, secret } of HAND_KEYS) addKey.run(name, algorithm, secret);
    const add = database.prepare(
      'INSERT INTO domainmetadata (domain_id, kind, content) SELECT id, ?, ? FROM domains WHERE name = ?',
    );
    const everyone = ['0.0.0.0/0', '::/0'];
    const metadata = [
      ['a.test', 'TSIG-ALLOW-AXFR', ['k1', 'k2', ...MANY]],
      ['a.test', 'TSIG-ALLOW-DNSUPDATE', ['k3']],
      ['a.test', 'ALLOW-DNSUPDATE-FROM', everyone],
      ['b.test', 'TSIG-ALLOW-AXFR', ['k4']],
      ['b.test', 'ALLOW-AXFR-FROM', ['127.0.0.8']],
      ['c.test', 'TSIG-ALLOW-AXFR', ['k2']],
      ['d.test', 'TSIG-ALLOW-AXFR', ['k6', 'k5']],
    ] as const;
    for (const [zone, kind, values] of metadata)
      for (const value of values) add.run(kind, value, zone);
    database.close();
  },
  ready: () => Promise.resolve(),
};

/** Servers with files, and the same keys and, as far as they have them, rights. */
export const HAND_MADE: readonly HandMade[] = [handMadeBind, handMadeKnot, handMadeNsd];
