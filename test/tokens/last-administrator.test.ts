import { describe, expect, test } from 'vitest';
import { startWithTokens, type CreatedToken } from '../harness/administrators.ts';
import { expectError } from '../harness/samples.ts';
import type { Client } from '../harness/client.ts';
import type { TestService } from '../harness/service.ts';

const ADA = { name: 'ada', roles: ['admin'] };
const BOB = { name: 'bob', roles: ['member', 'Admin'] };
/** A policy with the role `administrator`, a name similar to `admin`. */
const POLICY = { TSIGIL_POLICY: JSON.stringify({ hard_delete: ['admin', 'administrator'] }) };
const READER = { name: 'reader', roles: ['reader', 'administrator'] };

let service: TestService;

/**
 * Starts a service with these tokens. Returns a client with the token of `ada`, and functions that
 * use tokens by name.
 */
async function open(
  bodies: readonly object[],
  variables: Record<string, string> = {},
  clock?: () => string,
) {
  const started = await startWithTokens(
    bodies,
    { ...POLICY, ...variables },
    clock === undefined ? {} : { clock },
  );
  service = started.service;
  const tokens = new Map(started.tokens.map((each) => [each.name, each]));
  const clientOf = (name: string): Client => service.with(tokens.get(name)?.token ?? '');
  const remove = (name: string, client = clientOf('ada')) =>
    client.delete(`/v2/tokens/${(tokens.get(name) as CreatedToken).id}`);
  return { admin: clientOf('ada'), clientOf, remove };
}

describe('DELETE of a token', () => {
  test('409 for the last administrator token, even if other tokens exist, and the token stays valid', async () => {
    const { admin, remove } = await open([
      READER,
      { ...BOB, expires_at: '2001-01-01T00:00:00' },
      ADA,
    ]);
    const message = expectError(await remove('ada'), 409, 'last_administrator');
    expect(message).toBe(
      "Token 'ada' is the last valid administrator token. Create another token with the role admin first.",
    );
    expect((await admin.get('/v2/tokens')).body.tokens).toHaveLength(3);
  });

  test('204 for an administrator token while another token with the role Admin is valid', async () => {
    const { clientOf, remove } = await open([ADA, BOB]);
    expect((await remove('ada')).status).toBe(204);
    expectError(await remove('bob', clientOf('bob')), 409, 'last_administrator');
  });

  test('204 until the other administrator token expires, then 409', async () => {
    let now = '2030-01-01T00:00:00.000000';
    const expiring = { ...BOB, expires_at: '2030-01-02T00:00:00' };
    const { remove } = await open([ADA, { ...ADA, name: 'eve' }, expiring], {}, () => now);
    expect((await remove('eve')).status).toBe(204);
    now = '2030-01-02T00:00:00.000000';
    expectError(await remove('ada'), 409, 'last_administrator');
    now = '2030-01-01T23:59:59.999999';
    expect((await remove('ada')).status).toBe(204);
  });

  test('204 for the last administrator token if Keystone or adminToken gives administrators access', async () => {
    for (const variables of [
      { TSIGIL_AUTH_METHOD: '[tokens, keystone]', TSIGIL_AUTH_KEYSTONE_URL: 'http://127.0.0.1:9' },
      { TSIGIL_ADMIN_TOKEN: 'x'.repeat(32) },
    ]) {
      const { remove } = await open([ADA], variables);
      expect((await remove('ada')).status).toBe(204);
      if (!('TSIGIL_ADMIN_TOKEN' in variables)) await service.close();
    }
  });
});
