import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ZONES } from '../driven-server.ts';
import { hasProgram } from '../tools.ts';
import { editFile, type Brand } from './brand.ts';

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
  include: {
    file: 'keys/tsigil.conf',
    main: 'named.conf',
    withoutInclude: (text) => text.replace(/^include ".*tsigil.conf";\n/m, listsOf(ZONES)),
  },
};
