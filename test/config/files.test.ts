import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileProblems } from '../../src/config/checks.ts';
import { PATH_FORMAT } from '../../src/config/kinds.ts';
import { variableOf } from '../../src/config/option.ts';
import { OPTIONS } from '../../src/config/options.ts';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { temporaryFolder } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { CASES, COMPANIONS, problemsOf as problemsIn } from './cases.ts';

const folder = temporaryFolder();
const TEXT = join(folder, 'no-certificate.pem');
writeFileSync(TEXT, 'no certificate\n');
mkdirSync(join(folder, 'folder'));

const problemsOf = (environment: NodeJS.ProcessEnv) =>
  problemsIn(environment, undefined, fileProblems);

const PATHS = OPTIONS.filter(({ kind }) => kind.schema.format === PATH_FORMAT).map((option) => ({
  key: option.key,
  variable: variableOf(option),
}));

test('the service checks every setting with File in its name, tls.cert and tls.key', () => {
  expect(PATHS.map(({ key }) => key)).toEqual(
    OPTIONS.map(({ key }) => key).filter((key) => /file|tls\.(?:cert|key)$/i.test(key)),
  );
});

describe.each(PATHS)('$key', ({ key, variable }) => {
  const companions = Object.fromEntries(
    Object.entries(COMPANIONS[key] ?? {}).map(([companion]) => [CASES[companion]?.[0] ?? '', TEXT]),
  );

  test('the error for a missing file or a folder names the setting', () => {
    const nosuch = join(folder, 'nosuch.pem');
    expect(problemsOf({ ...companions, [variable]: nosuch })).toContainEqual(
      expect.stringMatching(
        new RegExp(`^'${key}': cannot read '${nosuch}': no such file or folder$`),
      ),
    );
    expect(problemsOf({ ...companions, [variable]: join(folder, 'folder') })).toContainEqual(
      expect.stringMatching(
        new RegExp(`^'${key}': cannot read '.*folder': the path is a folder, not a file$`),
      ),
    );
  });

  test('the error for a file without a certificate or key names the setting', () => {
    expect(problemsOf({ ...companions, [variable]: TEXT })).toEqual([
      expect.stringMatching(new RegExp(`'${key}'.*: .*(?:cannot use|has no)`)),
    ]);
  });
});

test.runIf(hasProgram('openssl', 'openssl'))(
  'accepts a certificate with its key, and refuses the key of another certificate',
  () => {
    const authority = createAuthority(folder, 'authority');
    createCertificate(folder, 'authority');
    const environment = {
      TSIGIL_TLS_CERT: join(folder, 'server.pem'),
      TSIGIL_TLS_KEY: join(folder, 'server.key'),
      TSIGIL_AUTH_KEYSTONE_CA_FILE: authority,
    };
    expect(problemsOf(environment)).toEqual([]);
    expect(problemsOf({ ...environment, TSIGIL_TLS_KEY: join(folder, 'authority.key') })).toEqual([
      expect.stringMatching(
        /^'tls\.cert' and 'tls\.key': cannot use .*server\.pem' and .*authority\.key': .*the key does not belong to the certificate$/,
      ),
    ]);
  },
);
