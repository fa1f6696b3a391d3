import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findLocalService } from '../../src/config/local-service.ts';
import { temporaryFolder } from '../harness/service.ts';

const folder = temporaryFolder();
const installation = {
  config: join(folder, 'etc/tsigil.yaml'),
  environment: join(folder, 'etc/environment'),
  folder: '/var/lib/tsigil',
};
const none = { ...installation, config: join(folder, 'nosuch.yaml') };
const before = process.cwd();
beforeAll(() => {
  mkdirSync(join(folder, 'etc'));
  process.chdir(folder); // the checkout may contain a local service
});
afterAll(() => process.chdir(before));

function install(...lines: string[]): void {
  writeFileSync(installation.config, lines.map((line) => `${line}\n`).join(''));
}

describe('the service on this machine', () => {
  test('is the installed service, with an absolute or relative path of its database', () => {
    install('listen: 127.0.0.1:9053', 'database: sqlite:/srv/dns/tsigil.db');
    expect(findLocalService({}, installation)).toEqual({
      url: 'http://127.0.0.1:9053',
      tokenFile: '/srv/dns/admin.token',
    });
    install('database: sqlite:tsigil.db');
    expect(findLocalService({}, installation)?.tokenFile).toBe('/var/lib/tsigil/admin.token');
    install('database: postgres://tsigil@db.example/tsigil');
    expect(findLocalService({}, installation)?.tokenFile).toBe('/var/lib/tsigil/var/admin.token');
  });

  test('is the installed service, with the environment variables of its systemd unit', () => {
    install('listen: 127.0.0.1:9053', 'database: sqlite:tsigil.db');
    writeFileSync(
      installation.environment,
      '# comment\nPGPASSWORD=x\nTSIGIL_NOSUCH=1\nTSIGIL_LISTEN="127.0.0.1:9055"\n  TSIGIL_DATABASE_URL=sqlite:/srv/two/tsigil.db  \n',
    );
    const service = { url: 'http://127.0.0.1:9055', tokenFile: '/srv/two/admin.token' };
    expect(findLocalService({}, installation)).toEqual(service);
    expect(findLocalService({ TSIGIL_CONFIG: installation.config }, installation)).toEqual(service);
    const given = { TSIGIL_CONFIG: installation.config, TSIGIL_LISTEN: '127.0.0.1:9056' };
    expect(findLocalService(given, installation)?.url).toBe('http://127.0.0.1:9056');
    expect(findLocalService({}, none)).toBeUndefined();
    rmSync(installation.environment);
  });

  test('is the service that the environment variables of a container describe', () => {
    const container = {
      TSIGIL_LISTEN: '0.0.0.0:9001',
      TSIGIL_DATABASE_URL: 'sqlite:/var/lib/tsigil/tsigil.db',
    };
    expect(findLocalService(container, none)).toEqual({
      url: 'http://127.0.0.1:9001',
      tokenFile: '/var/lib/tsigil/admin.token',
    });
    expect(findLocalService({ TSIGIL_LISTEN: '[::]:9002' }, none)?.url).toBe(
      'http://127.0.0.1:9002',
    );
  });

  test('is the service that TSIGIL_CONFIG describes, even if another service is installed', () => {
    const config = join(folder, 'other.yaml');
    writeFileSync(config, 'listen: 127.0.0.1:9054\ntls:\n  cert: a.pem\n  key: b.pem\n');
    expect(findLocalService({ TSIGIL_CONFIG: config }, installation)?.url).toBe(
      'https://127.0.0.1:9054',
    );
  });

  test('is unknown without a configuration and with an invalid configuration', () => {
    expect(findLocalService({}, none)).toBeUndefined();
    install('listen: nowhere');
    expect(findLocalService({}, installation)).toBeUndefined();
  });
});
