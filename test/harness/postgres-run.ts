import { startPostgres } from './postgres.ts';

/**
 * Starts the PostgreSQL server that all suites of this run share. Returns a function that removes
 * the server.
 */
export default async function setUp(): Promise<() => Promise<void>> {
  const server = await startPostgres();
  process.env.TEST_POSTGRES_URL = server.url;
  return () => server.remove();
}
