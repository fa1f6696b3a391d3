import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ApiResponse } from '../harness/client.ts';
import { tokenWith } from '../harness/limited-tokens.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const PATH = '/v2/tsigkeys';
const from = (address: string) => ({ 'x-forwarded-for': address });

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ TSIGIL_API_TRUST_PROXY_HEADERS: 'true' });
});

/** Returns a response without its date and request id, because both differ between requests. */
function shown({ status, text, headers }: ApiResponse) {
  const kept = [...headers].filter(([name]) => !/^date$|request-id$/.test(name));
  return { status, text: text.replace(/req-[\da-f-]{36}/, 'ID'), headers: kept };
}

describe('a token that is limited to networks', () => {
  test.each([
    ['192.0.2.0/24', '192.0.2.255', '192.0.3.0'],
    ['192.0.2.7', '10.0.0.1, 192.0.2.7', '192.0.2.7, 10.0.0.1'],
    ['192.0.2.7', '192.0.2.7:4711', '[2001:db8::1]:4711'],
    ['192.0.2.7', '::ffff:192.0.2.7', '::ffff:192.0.2.8'],
    ['2001:db8::/48', '2001:db8:0:ffff::1', '2001:db8:1::1'],
    ['2001:db8::1', '[2001:DB8::0001]:4711', '2001:db8::2'],
    ['0.0.0.0/0', '203.0.113.1', '2001:db8::1'],
    ['127.0.0.0/8', '127.0.0.1', 'unknown'],
  ])(
    'with the network %s is valid from %s and invalid from %s',
    async (network, inside, outside) => {
      const client = await tokenWith(service, { addresses: [network] });
      const unknown = service.with(`tsigil_${'A'.repeat(43)}`);
      // once before the token is cached, and once after
      for (let time = 1; time <= 2; time += 1) {
        expect(shown(await client.get(PATH, from(outside)))).toEqual(
          shown(await unknown.get(PATH, from(outside))),
        );
        expect((await client.get(PATH, from(inside))).status).toBe(200);
      }
    },
  );

  test('200 without X-Forwarded-For if the network contains the address of the connection', async () => {
    const client = await tokenWith(service, { addresses: ['127.0.0.1'] });
    expect((await client.get(PATH)).status).toBe(200);
    const other = await tokenWith(service, { addresses: ['127.0.0.2', '::1'] });
    expect((await other.get(PATH)).status).toBe(401);
  });
});

test('429 for requests from outside the networks, as for unknown tokens, and 200 from inside', async () => {
  const limited = await startTestService({
    TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
    TSIGIL_RATE_LIMIT_ANONYMOUS_REQUESTS_PER_SECOND: '1',
  });
  const client = await tokenWith(limited, { addresses: ['192.0.2.1'] });
  const unknown = limited.with(`tsigil_${'A'.repeat(43)}`);
  const right = from('192.0.2.1');
  /** Returns how many requests get 401 before a request gets 429. */
  const countRefused = async (caller: typeof client, address: string) => {
    for (let count = 0; ; count += 1) {
      const { status } = await caller.get(PATH, from(address));
      if (status === 429) return count;
      expect(status).toBe(401);
      expect((await client.get(PATH, right)).status).toBe(200);
    }
  };
  const fresh = await tokenWith(limited, { addresses: ['192.0.2.1'] });
  for (const [caller, address] of [
    [unknown, '203.0.113.1'],
    [client, '203.0.113.2'],
    [fresh, '203.0.113.3'],
  ] as const) {
    expect(await countRefused(caller, address)).toBeGreaterThanOrEqual(4);
  }
  expect((await fresh.get(PATH, right)).status).toBe(200);
});

describe('tokens that a token with networks creates', () => {
  const right = from('192.0.2.1');
  const creator = (members: object = {}) =>
    tokenWith(service, { addresses: ['192.0.2.0/24', '2001:db8::/32'], ...members });
  const body = (members: object) => ({
    name: randomUUID(),
    roles: ['admin'],
    addresses: ['192.0.2.0/25'],
    ...members,
  });

  test.each([
    ['the same networks', { addresses: ['192.0.2.0/24', '2001:db8::/32'] }],
    ['smaller networks', { addresses: ['192.0.2.1', '2001:db8:1::/48'] }],
    ['its project', { project_id: 'project-of-limits' }],
    ['a role in another spelling', { roles: ['ADMIN'] }],
  ])('201 for a token with %s', async (_, members) => {
    const { status, body: created } = await (
      await creator()
    ).post('/v2/tokens', body(members), right);
    expect(status).toBe(201);
    expect((await service.with(created.token).get(PATH, from('203.0.113.1'))).status).toBe(401);
  });

  test.each([
    ['no networks', { addresses: null }, 'addresses outside 192.0.2.0/24, 2001:db8::/32'],
    ['a larger network', { addresses: ['192.0.0.0/16'] }, 'addresses outside'],
    ['one network outside', { addresses: ['192.0.2.1', '192.0.3.1'] }, 'addresses outside'],
    ['another role', { roles: ['member'] }, 'roles other than admin'],
    ['another project', { project_id: 'other' }, 'another project'],
  ])('403 for a token with %s', async (_, members, what) => {
    const response = await (await creator()).post('/v2/tokens', body(members), right);
    expect([response.status, response.body.type]).toEqual([403, 'outside_limits']);
    expect(response.body.message).toContain(`The limits of the token do not include ${what}`);
  });
});
