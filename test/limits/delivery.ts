import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { IN_TURN, NEW_WORD, requestText, single } from './attack.ts';
import { PROJECT } from './databases.ts';
import type { Scenario, Target } from './scenario.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';

/** The number of keys on a name server, and how many of them one request imports. */
const KEYS = 2000;

/** The number of connections of a caller: half of what one address may open. */
const CONNECTIONS = 256;

/**
 * SQL that adds 200,000 changes of the last minute for each name server, in transactions so short
 * that the service does not wait long for any of them.
 */
const MISSED_CHANGES = Array.from(
  { length: 40 },
  (_, part) => `
    WITH RECURSIVE numbers (n) AS
      (SELECT ${part * 5000} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${part * 5000 + 4999})
    INSERT INTO outbox (nameserver_id, id, at)
      SELECT nameservers.id, 'missed-' || n, ${Date.now()} - 200000 + n
      FROM numbers CROSS JOIN nameservers`,
);

/** Creates a name server for an agent that does not run, with keys. */
async function createServer({ service }: Target): Promise<{ readonly id: string }> {
  const { body, text } = await service.post('/v2/nameservers', {
    name: 'ns1',
    pool_id: POOL,
    driver: 'bind',
    address: '192.0.2.53',
    delivery: 'agent',
  });
  if (body.id === undefined) throw new Error(`No name server: ${text}`);
  return { id: String(body.id) };
}

async function createKeys({ service }: Target, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const { status, body, text } = await service.post('/v2/tsigkeys', {
      name: `key-${ids.length}`,
      algorithm: 'hmac-sha256',
      scope: 'POOL',
      resource_id: POOL,
    });
    if (status !== 201) throw new Error(`No key: ${text}`);
    ids.push(String(body.id));
  }
  return ids;
}

/** Runs a statement in the database of the service with this folder. */
function runSql(folder: string, statement: string): void {
  const database = new DatabaseSync(join(folder, 'tsigil.db'));
  database.exec(`PRAGMA busy_timeout = 5000; ${statement}`);
  database.close();
}

/** Attacks on the delivery of keys to name servers, by a caller with a valid token. */
export const DELIVERY: readonly Scenario[] = [
  {
    name: 'Read the keys of a name server as its agent on 256 connections',
    async attack(target) {
      const { id } = await createServer(target);
      await createKeys(target, KEYS);
      const members = { roles: ['nameserver-agent'], nameservers: [id] };
      const { body } = await target.service.post('/v2/tokens', { name: 'agent', ...members });
      const path = `/v2/nameservers/${id}/desired?agent=ns1`;
      return {
        ...IN_TURN,
        connections: CONNECTIONS,
        blocks: single(requestText('GET', path, { 'X-Auth-Token': String(body.token) })),
      };
    },
    atLeast: { succeeded: 1, answers: 1 },
  },
  {
    name: 'Change zones, and wait for keys of a name server that is down and misses 200,000 changes',
    prepare(folder) {
      const local = { file: join(folder, 'keys.conf'), controlPort: 1 };
      const down = { name: 'down', driver: 'bind', address: '127.0.0.1:1', local };
      const file = join(folder, 'tsigil.yaml');
      writeFileSync(file, JSON.stringify({ nameServers: [down] }));
      return { TSIGIL_CONFIG: file };
    },
    async attack(target) {
      const { id } = await createServer(target);
      const keys = await createKeys(target, 1000);
      for (const statement of MISSED_CHANGES) runSql(target.service.folder, statement);
      const headers = { 'X-Auth-Token': await target.token('admin', PROJECT) };
      const zone = { name: `${NEW_WORD}.bystander.`, email: 'a@example.org' };
      return {
        ...IN_TURN,
        connections: CONNECTIONS,
        blocks: single(
          ...keys.flatMap((key) => [
            requestText('POST', '/v2/zones', headers, zone),
            requestText('GET', `/v2/tsigkeys/${key}/deliveries?wait=2`, headers),
            requestText('GET', `/v2/nameservers/${id}`, headers),
            requestText('GET', '/v2/nameservers', headers),
            requestText('GET', '/metrics'),
          ]),
        ),
      };
    },
    atLeast: { succeeded: 100 },
  },
];
