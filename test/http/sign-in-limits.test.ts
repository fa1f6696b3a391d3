import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openAuthentication } from '../../src/auth/methods.ts';
import { createClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Store } from '../../src/domain/model/ports.ts';
import { hashToken } from '../../src/domain/resources/token-hash.ts';
import { token as tokenType } from '../../src/domain/resources/token.ts';
import { createServer } from '../../src/http/server.ts';
import { createClient, type Client } from '../harness/client.ts';
import { openStore, serverDependenciesOn } from '../harness/dependencies.ts';
import { serverSettingsOn, temporaryFolder } from '../harness/service.ts';
import { keyed } from '../../src/domain/model/query.ts';
import { serve } from '../harness/connections.ts';

const LATENCY_MS = 5;
const EXPIRED = 'tsigil_expired-0123456789';

/** A service with counts of its database queries and Keystone requests. Each takes 5 ms. */
interface Counted {
  readonly client: Client;
  readonly counts: { queries: number; requests: number };
}

/** Starts a service that limits each address to one request per second, with a burst of 4. */
async function start(exclusive: boolean): Promise<Counted> {
  const counts = { queries: 0, requests: 0 };
  const keystone = await serve((_request, response) => {
    counts.requests += 1;
    setTimeout(() => {
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"error": {"code": 404}}');
    }, LATENCY_MS);
  });
  const folder = temporaryFolder();
  const config = readConfig(undefined, {
    TSIGIL_RATE_LIMIT_ANONYMOUS_REQUESTS_PER_SECOND: '1',
    TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
    TSIGIL_AUTH_METHOD: '[tokens, keystone]',
    TSIGIL_AUTH_KEYSTONE_URL: keystone,
    TSIGIL_AUTH_KEYSTONE_CACHE_SECONDS: '0',
  });
  const opened = await openStore(`sqlite:${join(folder, 'tsigil.db')}`);
  await insertExpired(opened);
  const store: Store = {
    ...opened,
    exclusive,
    async find(...given) {
      counts.queries += 1;
      await pause(LATENCY_MS);
      return opened.find(...given);
    },
  };
  const clock = createClock();
  const authentication = openAuthentication(config.auth.method, undefined, {
    store,
    clock,
    revokedTokens: new Set(),
    forgedToken: () => undefined,
    tokenUses: { log: { warn: () => undefined } },
    keystone: config.auth.keystone,
    keystoneObserver: { validated: () => undefined, cacheHit: () => undefined },
  });
  const { app } = createServer({
    ...serverSettingsOn(config, serverDependenciesOn(store, { clock })),
    ...authentication,
    known: authentication.cachedCaller,
    errors: { insufficientRightsStatus: 401, challenges: authentication.challenges },
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(async () => {
    await app.close();
    await authentication.close();
    await store.close();
  });
  return { client: createClient(url, ''), counts };
}

function insertExpired(store: Store): Promise<void> {
  const row = {
    id: randomUUID(),
    created_at: '2020-01-01T00:00:00.000000',
    updated_at: null,
    name: 'expired',
    roles: ['admin'],
    project_id: null,
    expires_at: '2020-01-02T00:00:00.000000',
    created_by: null,
    pools: null,
    zones: null,
    keys: null,
    nameservers: null,
    addresses: null,
    last_used_at: null,
    token: EXPIRED,
    hash: hashToken(EXPIRED),
  };
  return store.write((writer) => writer.insert(tokenType, keyed(tokenType, row)));
}

/**
 * Sends 20 rounds of 20 concurrent requests. `tokenOf` and `addressOf` return the token and the
 * address of each request. Expects 401, and then 429. Returns the number of responses with 401.
 */
async function flood(
  { client }: Counted,
  tokenOf: (index: number) => string,
  addressOf: (index: number) => string = () => '192.0.2.1',
): Promise<number> {
  const statuses: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, place) => {
        const index = 20 * round + place;
        const headers = { 'x-forwarded-for': addressOf(index) };
        return client.with(tokenOf(index)).get('/v2/tlds', headers);
      }),
    );
    for (const { status } of responses) statuses.push(status);
  }
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  return statuses.filter((status) => status === 401).length;
}

describe.each([
  ['an embedded database', true],
  ['a database that processes share', false],
])(
  'with %s, a flood from one address causes database queries and Keystone requests only up to the rate limit',
  (_, exclusive) => {
    test.each([
      ['401 and then 429 for different wrong tokens', (index: number) => `tsigil_wrong-${index}`],
      ['401 and then 429 for one wrong token at the same time', () => 'tsigil_wrong'],
      ['401 and then 429 for one expired token', () => EXPIRED],
      ['401 and then 429 for different wrong Keystone tokens', (index: number) => `wrong-${index}`],
      ['401 and then 429 for one wrong Keystone token at the same time', () => 'wrong'],
    ])('%s', async (_name, tokenOf) => {
      const service = await start(exclusive);
      const admitted = await flood(service, tokenOf);
      const { queries, requests } = service.counts;
      expect(queries + requests).toBeGreaterThan(0);
      expect(queries + requests).toBeLessThanOrEqual(admitted);
    });
  },
);
