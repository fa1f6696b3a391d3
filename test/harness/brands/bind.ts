import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bindClause, bindList } from '../../../src/brands/bind/brand.ts';
import { ZONES } from '../driven-server.ts';
import { SECRET } from '../samples.ts';
import { hasProgram } from '../tools.ts';
import { editFile, editMain, execute, type Brand } from './brand.ts';

const controlKey = (secret: string) =>
  `key "rndc-key" { algorithm hmac-sha256; secret "${secret}"; };\n`;

const listsOf = (zones: readonly string[]) =>
  ['', ...zones.map((zone) => `-${zone}`)]
    .flatMap((end) =>
      ['transfer', 'update'].map((right) => `acl "tsigil-${right}${end}" { none; };\n`),
    )
    .join('');

/** BIND with the zones of `ZONES`. */
export const bind: Brand = {
  name: 'BIND',
  driver: 'bind',
  main: 'named.conf',
  isInstalled: () => hasProgram('named', 'bind9'),
  foreign: 'rndc-key',
  configure(folder, port, controlPort, zones = ZONES) {
    writeFileSync(join(folder, 'rndc.key'), controlKey(randomBytes(32).toString('base64')));
    writeFileSync(join(folder, 'wrong.key'), controlKey(randomBytes(32).toString('base64')));
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), listsOf(zones));
    writeFileSync(
      join(folder, 'named.conf'),
      `include "${folder}/rndc.key";
include "${folder}/keys/tsigil.conf";
options {
  directory "${folder}"; pid-file none; lock-file none; session-keyfile "${folder}/session.key";
  listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; notify no; dnssec-validation no;
  allow-new-zones yes; allow-transfer { "tsigil-transfer"; };
};
controls { inet 127.0.0.1 port ${controlPort} allow { 127.0.0.1; } keys { "rndc-key"; }; };
${zones
  .map(
    (zone) => `zone "${zone}" {
  type primary; file "${folder}/${zone}.zone";
  allow-transfer { "tsigil-transfer"; "tsigil-transfer-${zone}"; };
  allow-update { "tsigil-update"; "tsigil-update-${zone}"; };
};
`,
  )
  .join('')}`,
    );
  },
  command: (folder) => ['named', '-c', join(folder, 'named.conf'), '-n', '1', '-g'],
  options: ({ folder, controlPort }) => ({
    file: join(folder, 'keys', 'tsigil.conf'),
    controlPort,
    controlKeyFile: join(folder, 'rndc.key'),
  }),
  wrongKey: ({ folder, controlPort }) => ({
    file: join(folder, 'keys', 'tsigil.conf'),
    controlPort,
    controlKeyFile: join(folder, 'wrong.key'),
  }),
  edit: ({ folder }, removed, changed) =>
    editFile(join(folder, 'keys', 'tsigil.conf'), (text) =>
      text
        .replace(new RegExp(`^key "${removed}" \\{\n(?:\t.*\n)*\\};\n`, 'm'), '')
        .replace(new RegExp(`(key "${changed}" \\{\n.*\n\tsecret ")[^"]*`), `$1${'A'.repeat(44)}`)
        .replaceAll(`key "${removed}";`, ''),
    ),
  logUses: (text) => text.replace('options {\n', 'options {\n  querylog yes;\n'),
  notifyAt: (text, port) =>
    `key "operators.example" { algorithm hmac-sha256; secret "${SECRET}"; };\n` +
    text.replace(
      'notify no;',
      `notify explicit; notify-delay 0; also-notify { 127.0.0.1 port ${port} key "operators.example"; };`,
    ),
  notify: ({ folder, controlPort }, zone) =>
    execute('rndc', [
      ...['-s', '127.0.0.1', '-p', String(controlPort), '-k', join(folder, 'rndc.key')],
      ...['notify', zone],
    ]),
  replaceByHand(folder, { zones, keys, many }) {
    mkdirSync(join(folder, 'managed'));
    const clauses = keys.map(
      ({ name, algorithm, secret }) =>
        `key "${name}" {\n\talgorithm ${algorithm};\n\tsecret "${secret}";\n};\n`,
    );
    const lists = [
      `allow-transfer { secondaries; ${many.map((name) => `key ${name};`).join(' ')} 127.0.0.9; };
  allow-update { key k3; };`,
      'allow-transfer { key "k4"; 127.0.0.8; };',
      '',
      `update-policy { grant k5 zonesub ANY; };
  allow-transfer { !{ !127.0.0.16/28; any; }; key k6; };`,
    ];
    const zoneClauses = zones.map(
      (zone, index) => `zone "${zone}" {
  type primary;
  file "${folder}/${zone}.zone";
  ${lists[index] ?? ''}
};
`,
    );
    writeFileSync(
      join(folder, 'zones.conf'),
      `${clauses.join('')}acl secondaries {
  key k1;
  key k2;
};
${zoneClauses.join('')}`,
    );
    editMain(bind, folder, (text) => {
      const [head = ''] = text
        .replace(/^include ".*tsigil.conf";\n/m, '')
        .replace(
          'allow-new-zones yes; allow-transfer { "tsigil-transfer"; };',
          `transfers-out 30; managed-keys-directory "${folder}/managed";\n  allow-transfer { key k2; };`,
        )
        .split('zone "a.test"');
      return `${head}include "${folder}/zones.conf";
server 192.0.2.9 { keys { "k7"; }; };
`;
    });
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), '');
  },
  include: {
    file: 'keys/tsigil.conf',
    withoutInclude: (text) => text.replace(/^include ".*tsigil.conf";\n/m, listsOf(ZONES)),
    statement: (path) => `include "${path}";\n`,
    checker: {
      program: 'named-checkconf',
      debian: 'bind9-utils',
      parameters: (file) => [file],
    },
    reload: (server) => server.signal('SIGHUP'),
    write: (keys, lists) =>
      keys.map(bindClause).join('') +
      [...lists].map(([name, members]) => bindList(name, members)).join(''),
    grant: (text, key) =>
      text.replaceAll(/(acl "tsigil-(?:transfer|update)") \{ none; \}/g, `$1 { key "${key}"; }`),
  },
};
