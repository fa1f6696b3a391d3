import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkConnections } from '../../src/command-config.ts';
import { readConfig } from '../../src/config/config.ts';
import { tsigil } from '../cli/run.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { serve } from '../harness/connections.ts';

const folder = temporaryFolder();

/**
 * Returns the messages of the checks. An exclamation mark comes before the message of a problem.
 */
async function check(environment: Record<string, string>): Promise<string[]> {
  const checks = await checkConnections(readConfig(undefined, environment));
  return checks.map(({ works, message }) => (works ? message : `! ${message}`));
}

const sqlite = (file: string) => ({ TSIGIL_DATABASE_URL: `sqlite:${join(folder, file)}` });

/**
 * Starts a Keystone that responds to a login with the status `login` and to a validation with the
 * status `validation`.
 */
async function keystone(login: number, validation: number): Promise<Record<string, string>> {
  const url = await serve((request, response) => {
    const status = request.method === 'POST' ? login : validation;
    const token = { issued_at: '2026-01-01T00:00:00Z', expires_at: '2036-01-02T00:00:00Z' };
    const body = status === 201 ? { token } : { error: { code: status, message: 'no' } };
    response.writeHead(status, { 'x-subject-token': 'own' }).end(JSON.stringify(body));
  });
  return {
    ...sqlite('new.db'),
    TSIGIL_AUTH_METHOD: 'keystone',
    TSIGIL_AUTH_KEYSTONE_URL: url,
    TSIGIL_AUTH_KEYSTONE_USERNAME: 'tsigil',
    TSIGIL_AUTH_KEYSTONE_PASSWORD: 'a-password',
    TSIGIL_AUTH_KEYSTONE_PROJECT: 'service',
  };
}

describe('the check of the database', () => {
  test('reports a file that is not a database, and a folder', async () => {
    writeFileSync(join(folder, 'text.db'), 'this is not a database');
    mkdirSync(join(folder, 'folder.db'));
    expect(await check(sqlite('text.db'))).toEqual([
      expect.stringMatching(/^! 'database': '.*text\.db' is not a SQLite database$/),
    ]);
    expect(await check(sqlite('folder.db'))).toEqual([
      expect.stringMatching(/^! 'database': '.*folder\.db' is not a file$/),
    ]);
  });
});

describe('the check of Keystone', () => {
  test('accepts credentials that may validate tokens', async () => {
    expect(await check(await keystone(201, 404))).toContainEqual(
      expect.stringMatching(/^Keystone at 'http.*' responds, and the service may validate tokens/),
    );
  });

  test.each([
    ['wrong credentials', 401, 404, /own credentials\. Check 'auth\.keystone\.username'/],
    ['a user without the role', 201, 403, /token validation request\. Assign the role 'service'/],
    ['another server', 404, 404, /own credentials\. Check 'auth\.keystone\.url'/],
  ])('reports %s, with a remedy', async (_name, login, validation, message) => {
    const [, problem = ''] = await check(await keystone(login, validation));
    expect(problem).toMatch(/^! 'auth\.keystone': Keystone: returned /);
    expect(problem).toMatch(message);
    expect(problem).not.toContain('a-password');
  });
});

describe('tsigil check-config --connect', () => {
  test('prints the configuration and, as comments, the checks that succeeded, even while the service runs', async () => {
    const service = await startServiceProcess(folder, sqlite('running.db'));
    const { status, out, err } = await tsigil(
      folder,
      sqlite('running.db'),
      'check-config',
      '--connect',
    );
    await service.stop('SIGTERM');
    expect([status, err]).toEqual([0, '']);
    expect(out).toMatch(/^# The database file '.*running\.db' can be read and written\.$/m);
    expect(parse(out)).toMatchObject({ listen: '127.0.0.1:9001' });
  });

  test('exits with 1 and prints every problem on standard error', async () => {
    writeFileSync(join(folder, 'broken.db'), 'this is not a database');
    const { status, out, err } = await tsigil(
      folder,
      { ...(await keystone(401, 404)), ...sqlite('broken.db') },
      'check-config',
      '--connect',
    );
    expect([status, out]).toEqual([1, expect.stringContaining('listen:')]);
    expect(err).toMatch(
      /^tsigil: The service cannot work with this configuration:\n {2}- 'database': .*\n {2}- 'auth\.keystone': .*\n$/,
    );
  });
});
