import { beforeAll, expect, test } from 'vitest';
import { ALGORITHMS } from '../../src/dns/algorithms.ts';
import { problemsOf, TSIGKEYS } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

// test/http/members.test.ts tests the members of a key.

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let count = 0;
/** Returns a body that creates a key with a new name. `members` replaces the default members. */
const key = (members: Record<string, unknown>) => ({
  ...TSIGKEYS.body(`key-${(count += 1)}`),
  ...members,
});

test('400 without quoting the secret', async () => {
  const secret = `Zm9yYmlkZGVuLXNlY3JldA==\n`;
  const response = await service.post('/v2/tsigkeys', key({ secret, junk: 1 }));
  expect(problemsOf(response)).toEqual(['secret: format', 'junk: additionalProperties']);
  expect(response.text).not.toContain('Zm9y');
});

test.each(Object.entries(ALGORITHMS))(
  '201 with a random secret as long as the output of %s if the body has no secret',
  async (algorithm, { hashOctets }) => {
    const body = () => key({ algorithm, secret: undefined });
    const { id, secret } = (await service.post('/v2/tsigkeys', body())).body;
    const bytes = Buffer.from(String(secret), 'base64');
    expect([bytes.length, bytes.toString('base64')]).toEqual([hashOctets, secret]);
    expect((await service.post('/v2/tsigkeys', body())).body.secret).not.toBe(secret);
    const changed = await service.patch(`/v2/tsigkeys/${id}`, { algorithm: 'hmac-sha384' });
    expect(changed.body).toMatchObject({ algorithm: 'hmac-sha384', secret });
  },
);
