import { describe, expect, test } from 'vitest';
import { problemsOf } from '../config/cases.ts';
import { formatYaml } from '../../src/cli/output/yaml.ts';
import { describeConfig, readConfig } from '../../src/config/config.ts';

const KEYSTONE = {
  TSIGIL_AUTH_METHOD: 'keystone',
  TSIGIL_AUTH_KEYSTONE_URL: 'https://keystone.example:5000/v3',
};

describe('auth.method', () => {
  const url = { TSIGIL_AUTH_KEYSTONE_URL: 'http://keystone.example' };
  for (const [text, methods] of Object.entries({
    tokens: ['tokens'],
    keystone: ['keystone'],
    '[tokens, keystone]': ['tokens', 'keystone'],
    '': ['tokens'],
  })) {
    test(`accepts '${text}'`, () =>
      expect(readConfig(undefined, { ...url, TSIGIL_AUTH_METHOD: text }).auth.method).toEqual(
        methods,
      ));
  }

  const word = 'must be one of tokens, keystone, or a list of these';
  for (const [text, problem] of Object.entries({
    ldap: word,
    'tokens,keystone': word,
    '{}': word,
    '5': word,
    '[]': 'must have 1 to 2 items',
    '[tokens, ldap]': 'item 1 must be one of tokens, keystone',
    '[tokens, tokens]': 'must not repeat an item',
  })) {
    test(`refuses '${text}'`, () =>
      expect(problemsOf({ ...url, TSIGIL_AUTH_METHOD: text })).toEqual([
        `TSIGIL_AUTH_METHOD ${problem}`,
      ]));
  }
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
  const passwordTogether =
    "'auth.keystone.username', 'auth.keystone.password' and 'auth.keystone.project' must be set together";
  const cases: readonly (readonly [string, Record<string, string>, readonly string[]])[] = [
    ['accepts a URL without credentials', KEYSTONE, []],
    ['accepts a user', { ...KEYSTONE, ...password }, []],
    ['accepts an application credential', { ...KEYSTONE, ...applicationCredential }, []],
    [
      'accepts a CA file with an https URL',
      { ...KEYSTONE, TSIGIL_AUTH_KEYSTONE_CA_FILE: 'ca.pem' },
      [],
    ],
    [
      'refuses a CA file with an http URL',
      {
        TSIGIL_AUTH_KEYSTONE_URL: 'http://keystone.example:5000',
        TSIGIL_AUTH_KEYSTONE_CA_FILE: 'ca.pem',
      },
      ["'auth.keystone.caFile' needs an https URL in 'auth.keystone.url'"],
    ],
    [
      'refuses a missing URL',
      { TSIGIL_AUTH_METHOD: 'keystone' },
      ["'auth.keystone.url' must be set for the method 'keystone'"],
    ],
    [
      'refuses a user without a password',
      { ...KEYSTONE, ...password, TSIGIL_AUTH_KEYSTONE_PASSWORD: '' },
      [passwordTogether],
    ],
    [
      'refuses a password alone',
      { ...KEYSTONE, TSIGIL_AUTH_KEYSTONE_PASSWORD: 'x' },
      [passwordTogether],
    ],
    [
      'refuses half an application credential',
      { ...KEYSTONE, TSIGIL_AUTH_KEYSTONE_APPLICATION_CREDENTIAL_ID: 'x' },
      [
        "'auth.keystone.applicationCredentialId' and 'auth.keystone.applicationCredentialSecret' must be set together",
      ],
    ],
    [
      'refuses a user and an application credential together',
      { ...KEYSTONE, ...password, ...applicationCredential },
      [
        "'auth.keystone.username' and 'auth.keystone.applicationCredentialId' exclude each other. Set one of them",
      ],
    ],
  ];
  for (const [name, variables, problems] of cases)
    test(name, () => expect(problemsOf(variables)).toEqual(problems));

  test('check-config hides the password and the secret of the application credential', () => {
    const shown = [password, applicationCredential].map((credentials) =>
      formatYaml(describeConfig(readConfig(undefined, { ...KEYSTONE, ...credentials }))),
    );
    expect(shown[0]).toContain('password: (hidden)');
    expect(shown[1]).toContain('applicationCredentialSecret: (hidden)');
    expect(shown.filter((text) => /12345|a-secret/.test(text))).toEqual([]);
  });
});
