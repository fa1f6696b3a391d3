import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { withoutTokens } from '../../../src/core/text/token-form.ts';

const own = `tsigil_${randomBytes(32).toString('base64url')}`;
const fernet = `gAAAAABl${randomBytes(90).toString('base64url')}==`;
const jws = `eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.${randomBytes(60).toString('base64url')}.${randomBytes(64).toString('base64url')}`;

test.each([
  ['a token of the service', own],
  ['a Fernet token of Keystone', fernet],
  ['a Fernet token in a URL', encodeURIComponent(fernet)],
  ['a JWS token of Keystone', jws],
  ['an administrator token with any characters', "tsigil_it's;a:token,of~my{own}!<choice>"],
])('masks %s at any position', (_what, token) => {
  expect(withoutTokens(token)).toBe('(a token)');
  expect(withoutTokens(`Invalid UUID: ${token} is not one`)).toBe(
    'Invalid UUID: (a token) is not one',
  );
  expect(JSON.parse(withoutTokens(JSON.stringify({ one: token, two: `x${token}` })))).toEqual({
    one: '(a token)',
    two: 'x(a token)',
  });
});

test.each([
  'tsigil_resources',
  'tsigil_database_up',
  'database "tsigil_production" does not exist',
  'gAAAA',
  'eyJhbGci',
  '',
  'plain text',
])('returns other text unchanged: %j', (text) => {
  expect(withoutTokens(text)).toBe(text);
});
