import { describe, expect, test } from 'vitest';
import { problemsOf } from '../config/cases.ts';
import { formatYaml } from '../../src/cli/output/yaml.ts';
import { describeConfig, readConfig } from '../../src/config/config.ts';

const KEYSTONE = {
  TSIGIL_AUTH_METHOD: 'keystone',
  TSIGIL_AUTH_KEYSTONE_URL: 'https://keystone.example:5000/v3',
};

const OTHER_WORD = 'must be one of tokens, keystone, or a list of these';

test.each([
  ['tokens', ['tokens']],
  ['keystone', ['keystone']],
  ['[tokens, keystone]', ['tokens', 'keystone']],
  ['', ['tokens']],
  ['ldap', OTHER_WORD],
  ['tokens,keystone', OTHER_WORD],
  ['{}', OTHER_WORD],
  ['[]', 'must have 1 to 2 items'],
  ['[tokens, ldap]', 'item 1 must be one of tokens, keystone'],
  ['[tokens, tokens]', 'must not repeat an item'],
])("auth.method '%s' is read as %j", (text, expected) => {
  const variables = { ...KEYSTONE, TSIGIL_AUTH_METHOD: text };
  if (typeof expected === 'string')
    expect(problemsOf(variables)).toEqual([`TSIGIL_AUTH_METHOD ${expected}`]);
  else expect(readConfig(undefined, variables).auth.method).toEqual(expected);
});

describe('required combinations of Keystone settings', () => {
  const password = {
    TSIGIL_AUTH_KEYSTONE_USERNAME: 'tsigil',
    TSIGIL_AUTH_KEYSTONE_PASSWORD: '12345',
    TSIGIL_AUTH_KEYSTONE_PROJECT: 'services',
  };
  const applicationCredential = {
    TSIGIL_AUTH_KEYSTONE_APPLICATION_CREDENTIAL_ID: 'an-id',
    TSIGIL_AUTH_KEYSTONE_APPLICATION_CREDENTIAL_SECRET: 'a-secret',
  };
  const CA_FILE = { TSIGIL_AUTH_KEYSTONE_CA_FILE: 'ca.pem' };
  const passwordTogether =
    "'auth.keystone.username', 'auth.keystone.password' and 'auth.keystone.project' must be set together";

  test.each<[string, Record<string, string>, string?]>([
    ['a URL without credentials', KEYSTONE],
    ['a user', { ...KEYSTONE, ...password }],
    ['an application credential', { ...KEYSTONE, ...applicationCredential }],
    ['a CA file with an https URL', { ...KEYSTONE, ...CA_FILE }],
    [
      'a CA file with an http URL',
      { TSIGIL_AUTH_KEYSTONE_URL: 'http://keystone.example:5000', ...CA_FILE },
      "'auth.keystone.caFile' needs an https URL in 'auth.keystone.url'",
    ],
    [
      'a missing URL',
      { TSIGIL_AUTH_METHOD: 'keystone' },
      "'auth.keystone.url' must be set for the method 'keystone'",
    ],
    [
      'a user without a password',
      { ...KEYSTONE, ...password, TSIGIL_AUTH_KEYSTONE_PASSWORD: '' },
      passwordTogether,
    ],
    [
      'half an application credential',
      { ...KEYSTONE, TSIGIL_AUTH_KEYSTONE_APPLICATION_CREDENTIAL_ID: 'x' },
      "'auth.keystone.applicationCredentialId' and 'auth.keystone.applicationCredentialSecret' must be set together",
    ],
    [
      'a user and an application credential together',
      { ...KEYSTONE, ...password, ...applicationCredential },
      "'auth.keystone.username' and 'auth.keystone.applicationCredentialId' exclude each other. Set one of them",
    ],
  ])('%s', (_, variables, problem) => {
    expect(problemsOf(variables)).toEqual(problem === undefined ? [] : [problem]);
  });

  test('check-config hides the password and the secret of the application credential', () => {
    const shown = [password, applicationCredential].map((credentials) =>
      formatYaml(describeConfig(readConfig(undefined, { ...KEYSTONE, ...credentials }))),
    );
    expect(shown[0]).toContain('password: (hidden)');
    expect(shown[1]).toContain('applicationCredentialSecret: (hidden)');
    expect(shown.filter((text) => /12345|a-secret/.test(text))).toEqual([]);
  });
});
