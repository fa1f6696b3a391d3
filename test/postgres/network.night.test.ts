import { beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../harness/postgres.ts';
import { startTestService } from '../harness/service.ts';

let url: string;
beforeAll(async () => {
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'network');
});

/** Starts and stops a service whose database is at `host`, and returns its log. */
async function logWith(host: string, query = ''): Promise<string> {
  const service = await startTestService({
    TSIGIL_DATABASE_URL: url.replace('127.0.0.1', host) + query,
  });
  await service.close();
  return service.log.join('');
}

// On Linux, a connection to 0.0.0.0 reaches this machine, but 0.0.0.0 is not a loopback address.
test('the log has a warning with the host for a connection without TLS, except to a loopback address', async () => {
  for (const query of ['', '?sslmode=disable']) {
    const log = await logWith('0.0.0.0', query);
    expect(log).toContain('The connection to PostgreSQL leaves this machine without TLS');
    expect(log).toContain('"host":"0.0.0.0"');
    expect(log).not.toContain('postgres@');
  }
});

test('the log has no warning for a connection to a loopback address', async () => {
  for (const host of ['127.0.0.1', 'localhost'])
    expect(await logWith(host)).not.toContain('without TLS');
});
