import { hasPostgres, startPostgres } from './postgres.ts';

/**
 * Starts the PostgreSQL server that all suites of this run share. Returns a function that removes
 * the server. Without binaries for this machine, starts no server.
 */
export default async function setUp(): Promise<(() => Promise<void>) | undefined> {
  if (!hasPostgres()) return undefined;
  const server = await startPostgres();
  process.env.TEST_POSTGRES_URL = server.url;
  return () => server.remove();
}
