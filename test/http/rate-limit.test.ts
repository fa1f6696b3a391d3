import { describe, expect, test } from 'vitest';
import { createRateLimiter } from '../../src/http/rate-limit.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { expectError } from '../harness/samples.ts';
import { startTestService } from '../harness/service.ts';

describe('the bucket of one caller', () => {
  /** A limiter, a clock to turn, and what each request got: undefined, or the seconds to wait. */
  function limiter(requestsPerSecond: number, burst: number) {
    let now = 100;
    const take = createRateLimiter({ requestsPerSecond, burst }, () => now);
    return {
      wait: (seconds: number) => void (now += seconds),
      ask(caller = 'a'): number | undefined {
        try {
          take(caller);
          return undefined;
        } catch (error) {
          return error instanceof ServiceError && error.code === 'too_many_requests' ? error.details.retryAfterSeconds : NaN;
        }
      },
    };
  }

  test('holds the burst, and tells how long to wait once it is empty', () => {
    const { ask } = limiter(2, 3);
    expect([ask(), ask(), ask(), ask()]).toEqual([undefined, undefined, undefined, 1]);
  });

  test('fills at the rate, up to the burst', () => {
    const { ask, wait } = limiter(2, 3);
    for (let count = 0; count < 3; count += 1) ask();
    wait(0.4);
    expect(ask()).toBe(1);
    wait(0.1);
    expect([ask(), ask()]).toEqual([undefined, 1]);
    wait(1000);
    expect([ask(), ask(), ask(), ask()]).toEqual([undefined, undefined, undefined, 1]);
  });

  test('gives a token to whoever waits as long as it was told', () => {
    const { ask, wait } = limiter(3, 1);
    ask();
    for (let count = 0; count < 20; count += 1) {
      const seconds = ask();
      expect(seconds).toBe(1);
      wait(seconds ?? 0);
      expect(ask()).toBeUndefined();
    }
  });

  test('is not emptied further by requests that were refused', () => {
    const { ask, wait } = limiter(1, 1);
    for (let count = 0; count < 50; count += 1) ask();
    wait(1);
    expect(ask()).toBeUndefined();
  });

  test('is nobody else’s', () => {
    const { ask } = limiter(1, 1);
    expect([ask('a'), ask('b'), ask('a'), ask('b')]).toEqual([undefined, undefined, 1, 1]);
  });

  test('has no bottom when the rate is 0', () => {
    const { ask } = limiter(0, 1);
    expect(Array.from({ length: 1000 }, () => ask())).toEqual(Array.from({ length: 1000 }, () => undefined));
  });
});

describe('a service with a limit', () => {
  const variables = { TSIGIL_RATE_LIMIT_REQUESTS_PER_SECOND: '1', TSIGIL_RATE_LIMIT_BURST: '5' };

  test('429 with Retry-After once a caller has used up its burst, and other callers are served', async () => {
    const service = await startTestService(variables);
    const other = service.with((await service.post('/v2/tokens', { name: 'other', roles: ['admin'] })).body.token);
    const answers = await Promise.all(Array.from({ length: 30 }, () => service.get('/v2/tlds')));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status === 200).length + refused.length).toBe(30);
    for (const answer of refused) {
      expectError(answer, 429, 'too_many_requests');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect((await other.get('/v2/tlds')).status).toBe(200);
    await service.close();
  });

  test('429 for an address that keeps trying tokens that do not exist', async () => {
    const service = await startTestService(variables);
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => service.with(`guess-${index}`).get('/v2/tlds')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
    expect((await service.get('/v2/tlds')).status).toBe(200);
    expect((await service.get('/healthcheck')).status).toBe(200);
    await service.close();
  });

  test('200 for everything without a limit, which is the default', async () => {
    const service = await startTestService();
    const answers = await Promise.all(Array.from({ length: 300 }, () => service.get('/v2/tlds')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await service.close();
  });
});
