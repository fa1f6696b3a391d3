import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTestService, temporaryFolder } from '../harness/service.ts';
import { tsigil } from './run.ts';

const folder = temporaryFolder();

test('a command reads the address and the first token from the configuration of the service', async () => {
  const home = join(folder, 'elsewhere');
  const made = await startTestService({
    TSIGIL_ADMIN_TOKEN: '',
    TSIGIL_DATABASE_URL: `sqlite:${join(home, 'tsigil.db')}`,
  });
  const config = join(folder, 'service.yaml');
  const { host } = new URL(made.url);
  writeFileSync(config, `listen: ${host}\ndatabase: sqlite:${join(home, 'tsigil.db')}\n`);
  const argv = ['token', 'list', '-f', 'value', '-c', 'name'];
  for (const variables of [
    { TSIGIL_CONFIG: config },
    { TSIGIL_LISTEN: host, TSIGIL_DATABASE_URL: `sqlite:${join(home, 'tsigil.db')}` },
  ])
    expect(await tsigil(folder, variables, ...argv)).toEqual({
      status: 0,
      out: 'admin\n',
      err: '',
    });
});

test('exits with 2 for a URL that is not the one of the service, and does not send the first token there', async () => {
  const config = join(folder, 'other.yaml');
  writeFileSync(config, 'listen: 127.0.0.1:9001\n');
  for (const url of [
    'http://192.0.2.1:9001',
    'https://dns.example.org',
    'http://127.0.0.1:29999',
  ]) {
    const ended = await tsigil(folder, { TSIGIL_CONFIG: config }, 'tld', 'list', '--url', url);
    expect(ended).toMatchObject({ status: 2, out: '' });
    expect(ended.err).toContain(`No token for '${url}'`);
    expect(ended.err).toContain(`tsigil login --url ${url}`);
  }
});
