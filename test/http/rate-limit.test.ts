import { describe, expect, test } from 'vitest';
import { createAddressLimit, createRateLimiter } from '../../src/http/request/rate-limit.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { expectError } from '../harness/samples.ts';
import { serve } from '../harness/connections.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

describe('the token bucket of one caller', () => {
  /**
   * Returns a limiter with a clock. `request` returns undefined if the request is admitted, and
   * otherwise the seconds to wait.
   */
  function limiter(requestsPerSecond: number, burst: number) {
    let now = 100;
    const take = createRateLimiter({ requestsPerSecond, burst }, () => now);
    return {
      wait: (seconds: number) => void (now += seconds),
      request(caller = 'a'): number | undefined {
        try {
          take(caller);
          return undefined;
        } catch (error) {
          return error instanceof ServiceError && error.code === 'too_many_requests'
            ? error.details.retryAfterSeconds
            : NaN;
        }
      },
    };
  }

  test('refills at the configured rate, up to the burst', () => {
    const { request: request, wait } = limiter(2, 3);
    for (let count = 0; count < 3; count += 1) request();
    wait(0.4);
    expect(request()).toBe(1);
    wait(0.1);
    expect([request(), request()]).toEqual([undefined, 1]);
    wait(1000);
    expect([request(), request(), request(), request()]).toEqual([
      undefined,
      undefined,
      undefined,
      1,
    ]);
  });
});

describe('a service with a rate limit', () => {
  const variables = { TSIGIL_RATE_LIMIT_REQUESTS_PER_SECOND: '1' };

  test('429 with Retry-After for a caller above the burst, and 200 for other callers', async () => {
    const service = await startTestService(variables);
    const other = await clientFor(service, ['admin']);
    const responses = await Promise.all(Array.from({ length: 30 }, () => service.get('/v2/tlds')));
    const refused = responses.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(responses.filter(({ status }) => status === 200).length + refused.length).toBe(30);
    for (const response of refused) {
      expectError(response, 429, 'too_many_requests');
      expect(response.headers.get('retry-after')).toBe('1');
    }
    expect((await other.get('/v2/tlds')).status).toBe(200);
  });
});

describe('the token bucket of an address', () => {
  /**
   * Returns a limit of 1 request per second with a burst of 2, and a clock. `take` and `check`
   * return whether a request is admitted.
   */
  function limit() {
    let now = 0;
    const addressLimit = createAddressLimit({ requestsPerSecond: 1, burst: 2 }, () => now);
    const admitted = (request: () => void) => {
      try {
        request();
        return true;
      } catch (error) {
        expect(error).toMatchObject({
          code: 'too_many_requests',
          details: { retryAfterSeconds: 1 },
        });
        return false;
      }
    };
    return {
      wait: (seconds: number) => void (now += seconds),
      take: (address = '192.0.2.1') => admitted(() => addressLimit.take(address)),
      check: (token: string, valid: boolean | undefined) =>
        admitted(() => addressLimit.beginCheck('192.0.2.1', token)(valid)),
      begin: (token: string) => addressLimit.beginCheck('192.0.2.1', token),
    };
  }

  test('counts each request without a valid token, and refills at the configured rate', () => {
    const { take, check, wait } = limit();
    expect([take(), check('bad', false), check('worse', false), take()]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    wait(1);
    expect([take(), take()]).toEqual([true, false]);
  });

  test('does not count requests with valid tokens', () => {
    const { take, check } = limit();
    for (let count = 0; count < 50; count += 1) expect(check(`valid-${count}`, true)).toBe(true);
    expect([take(), take(), take()]).toEqual([true, true, false]);
  });

  test('admits requests with a token that was valid at its last check, even if the bucket is empty', () => {
    const { take, check } = limit();
    check('valid', true);
    expect([take(), take(), take()]).toEqual([true, true, false]);
    for (let count = 0; count < 50; count += 1) expect(check('valid', true)).toBe(true);
    expect([take(), check('new', true)]).toEqual([false, false]);
  });

  test('admits requests with a token whose check failed with an error, but not with a revoked token', () => {
    const { take, check } = limit();
    check('valid', true);
    expect([take(), take()]).toEqual([true, true]);
    expect([check('valid', undefined), check('valid', false), check('valid', false)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('counts concurrent requests with the same new token as one request', () => {
    const { take, begin } = limit();
    const settled = Array.from({ length: 100 }, () => begin('new'));
    for (const settle of settled) settle(true);
    expect([take(), take(), take()]).toEqual([true, true, false]);
  });

  test.each([
    ['192.0.2.1', '192.0.2.2', false],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8:1:2::1', '2001:DB8:0001:2:3:4:5:6', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['::1', '::2', true],
    ['::1', '1::', false],
    ['fe80::1%eth0', 'fe80::2', true],
    ['64:ff9b::192.0.2.1', '64:ff9b::192.0.2.9', true],
    ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::', true],
  ])('%s and %s share a bucket: %s', (one, other, shared) => {
    const { take } = limit();
    expect([take(one), take(one), take(other)]).toEqual([true, true, !shared]);
  });
});

describe('a service with a limit for addresses', () => {
  /** Refills so slowly that a slow machine exceeds the limit too. */
  const SLOW = { TSIGIL_RATE_LIMIT_ANONYMOUS_REQUESTS_PER_SECOND: '1' };
  const guess = (service: TestService, index: number) =>
    service.with(`tsigil_guess-${index}`).get('/v2/tlds');

  test('429 with Retry-After after four invalid tokens at one per second, and 200 for valid tokens from the same address', async () => {
    const service = await startTestService(SLOW);
    const [inUse, unused] = [
      await clientFor(service, ['admin']),
      await clientFor(service, ['admin']),
    ];
    expect((await inUse.get('/v2/tlds')).status).toBe(200);
    const responses = await Promise.all(
      Array.from({ length: 60 }, (_, index) => guess(service, index)),
    );
    const refused = responses.filter(({ status }) => status !== 401);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(56);
    for (const response of refused) {
      expectError(response, 429, 'too_many_requests');
      expect(response.headers.get('retry-after')).toBe('1');
    }
    for (const client of [service, inUse]) {
      for (let count = 0; count < 30; count += 1)
        expect((await client.get('/v2/tlds')).status).toBe(200);
    }
    for (const path of ['/healthcheck', '/readyz'])
      expect((await service.with('').get(path)).status).toBe(200);
    await expect.poll(async () => (await unused.get('/v2/tlds')).status).toBe(200);
  });

  test.each(['/', '/docs', '/openapi.json', '/metrics', '/nosuch', '/v2/tlds'])(
    '429 for GET %s without a token',
    async (path) => {
      const service = await startTestService(SLOW);
      const responses = await Promise.all(
        Array.from({ length: 60 }, () => service.with('').get(path)),
      );
      expect(responses.some(({ status }) => status === 429)).toBe(true);
    },
  );

  test('429 for invalid tokens above the limit, without a request to Keystone', async () => {
    let asked = 0;
    const keystone = await serve((_request, response) => {
      asked += 1;
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"code":404}}');
    });
    const service = await startTestService({
      ...SLOW,
      TSIGIL_AUTH_METHOD: 'keystone',
      TSIGIL_AUTH_KEYSTONE_URL: keystone,
    });
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, index) => service.with(`guess-${index}`).get('/v2/tlds')),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401, 429]));
    expect(asked).toBe(responses.filter(({ status }) => status === 401).length);
    await service.close();
  });
});

describe('behind a proxy', () => {
  const variables = { TSIGIL_RATE_LIMIT_ANONYMOUS_REQUESTS_PER_SECOND: '1' };
  const from = (service: TestService, forwarded: string) =>
    service.with('').get('/v2/tlds', { 'x-forwarded-for': forwarded });

  /**
   * Sends requests until one gets 429, and expects 401 for each of the burst. Returns the number of
   * requests.
   */
  async function sendUntilRefused(
    send: (index: number) => Promise<{ readonly status: number }>,
  ): Promise<number> {
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429) statuses.push((await send(statuses.length)).status);
    expect(statuses.length).toBeGreaterThan(3);
    expect(new Set(statuses.slice(0, -1))).toEqual(new Set([401]));
    return statuses.length;
  }

  test('429 for the last address in X-Forwarded-For, whatever the earlier addresses, and 401 for other addresses', async () => {
    const service = await startTestService({
      ...variables,
      TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
    });
    const count = await sendUntilRefused((index) =>
      from(service, `203.0.113.${index}, 2001:db8::${index}`),
    );
    expect((await from(service, '2001:db8::1, 192.0.2.7')).status).toBe(401);
    const addresses = addressesIn(service);
    expect(addresses).toEqual([
      ...Array.from({ length: count }, (_, index) => `2001:db8::${index}`),
      '192.0.2.7',
    ]);
  });

  test('429 for the peer, whatever X-Forwarded-For contains, if no proxy is trusted', async () => {
    const service = await startTestService(variables);
    await sendUntilRefused((index) => from(service, `192.0.2.${index}`));
    expect(new Set(addressesIn(service))).toEqual(new Set(['127.0.0.1']));
  });
});

/** Returns the addresses in the log lines of all requests. */
function addressesIn(service: TestService): unknown[] {
  return service.log
    .map((line) => JSON.parse(line) as { status?: number; address?: string })
    .flatMap(({ status, address }) => (status === undefined ? [] : [address]));
}
