import { expect, test } from 'vitest';
import { readToken } from '../../src/keystone/keystone-token.ts';

test('a user of Keystone never gets the role nameserver-agent', () => {
  const read = readToken({
    token: {
      expires_at: '2026-11-23T10:00:00.000000Z',
      user: { id: 'ada-id', name: 'ada' },
      roles: ['reader', 'nameserver-agent', 'NameServer-Agent'].map((name) => ({ name })),
      project: { id: 'web', name: 'web' },
    },
  });
  expect(read?.caller.roles).toEqual(['reader']);
});
