import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hasProgram } from '../harness/tools.ts';
import { ZONES } from '../harness/driven-server.ts';
import { describeDriver, newKey, type DriverCase } from './driver-contract.ts';
import { describeIncludeFile, editFile } from './include-file-contract.ts';

const controlKey = (secret: string) =>
  `key "rndc-key" { algorithm hmac-sha256; secret "${secret}"; };\n`;

const bind: DriverCase = {
  name: 'BIND',
  driver: 'bind',
  installed: hasProgram('named', 'bind9'),
  foreign: 'rndc-key',
  configure(folder, port, controlPort) {
    writeFileSync(join(folder, 'rndc.key'), controlKey(randomBytes(32).toString('base64')));
    writeFileSync(join(folder, 'wrong.key'), controlKey(randomBytes(32).toString('base64')));
    writeFileSync(
      join(folder, 'keys', 'tsigil.conf'),
      'acl "tsigil-transfer" { none; };\nacl "tsigil-update" { none; };\n' +
        ZONES.flatMap((zone) => [
          `acl "tsigil-transfer-${zone}" { none; };\n`,
          `acl "tsigil-update-${zone}" { none; };\n`,
        ]).join(''),
    );
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
${ZONES.map(
  (zone) => `zone "${zone}" {
  type primary; file "${folder}/${zone}.zone";
  allow-transfer { "tsigil-transfer"; "tsigil-transfer-${zone}"; };
  allow-update { "tsigil-update"; "tsigil-update-${zone}"; };
};
`,
).join('')}`,
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
        .replace(new RegExp(`^key "${removed}".*\n`, 'm'), '')
        .replace(new RegExp(`(key "${changed}".*secret ")[^"]*`), `$1${'A'.repeat(44)}`)
        .replaceAll(`key "${removed}";`, ''),
    ),
};

describeDriver(bind, (session) => {
  test('a refusal has the reason that named-checkconf prints, without text of the file', async () => {
    const { server, apply } = session();
    const main = join(server.folder, 'named.conf');
    const text = readFileSync(main, 'utf8');
    const messageWith = async (more: string) => {
      writeFileSync(main, `${text}\n${more}\n`);
      const refused = await apply(newKey({ rights: ['transfer'] })).catch(
        (error: unknown) => error,
      );
      writeFileSync(main, text);
      return refused instanceof Error ? refused.message : '';
    };
    const unknownList =
      'zone "x.test" { type primary; file "x"; allow-transfer { no-such-list; }; };';
    expect(await messageWith(unknownList)).toMatch(
      /^BIND refused the new configuration: .*named\.conf:\d+: undefined ACL 'no-such-list'\.$/,
    );
    expect(await messageWith('key x { algorithm hmac-sha256; secret "a" QUOTED; };')).toMatch(
      /named\.conf:\d+: [^Q]*\.$/,
    );
    await apply(newKey({ rights: ['transfer'] }));
  });

  describeIncludeFile(session, bind, {
    file: 'keys/tsigil.conf',
    main: 'named.conf',
    withoutInclude: (text) =>
      text.replace(
        /^include ".*tsigil.conf";\n/m,
        'acl "tsigil-transfer" { none; };\nacl "tsigil-update" { none; };\n' +
          ZONES.map(
            (zone) =>
              `acl "tsigil-transfer-${zone}" { none; };\nacl "tsigil-update-${zone}" { none; };\n`,
          ).join(''),
      ),
  });
});
