import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { redactor } from '../../src/delivery/reconciler/redaction.ts';

/** The forms in which a program may write a secret. */
const FORMS: Readonly<Record<string, (secret: string) => string>> = {
  'in base64': (secret) => secret,
  'without padding': (secret) => secret.replace(/=+$/, ''),
  'in base64url': (secret) => secret.replaceAll('+', '-').replaceAll('/', '_'),
  'in URL encoding': encodeURIComponent,
  'in JSON': (secret) => JSON.stringify(secret).replaceAll('/', '\\/'),
  'with escapes': (secret) => secret.replaceAll('+', '\\u002b').replaceAll('/', '\\x2F'),
  'in lines': (secret) => secret.replaceAll(/.{4}/g, '$& "\n'),
  'in hexadecimal': (secret) => Buffer.from(secret, 'base64').toString('hex'),
  'in upper case': (secret) => Buffer.from(secret, 'base64').toString('hex').toUpperCase(),
  'in pairs': (secret) => Buffer.from(secret, 'base64').toString('hex').replaceAll(/../g, '$&:'),
  'as text': (secret) => Buffer.from(secret, 'base64').toString('latin1'),
  'in part': (secret) => secret.slice(9, 25),
};

const TEXT = Buffer.from('QUITE~A-SECRET>>TEXT_TO?KEEP+OUT').toString('base64');

test.each(Object.entries(FORMS))('a secret %s is removed from a text', async (_name, write) => {
  const secrets = Array.from({ length: 50 }, () => randomBytes(32).toString('base64'));
  const redact = await redactor([...secrets, TEXT]);
  for (const secret of [...secrets, TEXT]) {
    const quoted = write(secret);
    const safe = redact(`line 7: the secret ${quoted} is not valid`);
    expect(safe).not.toContain(quoted.slice(-12));
    expect(safe).toMatch(/^(line 7: the secret .*\*\*\*|The message contained a secret)/);
  }
});

test('a secret in base64 is replaced, and the rest of the text is unchanged', async () => {
  const secret = randomBytes(32).toString('base64');
  const redact = await redactor([secret]);
  expect(redact(`key "a" { secret "${secret}"; };`)).toBe('key "a" { secret "***"; };');
});

test('a short secret is removed', async () => {
  const redact = await redactor(['', 'c2hvcnQ=']);
  expect(redact('secret "c2hvcnQ="')).toBe('secret "***"');
});

test('a text without a secret stays unchanged, however many secrets there are', async () => {
  const secrets = Array.from({ length: 10_000 }, () => randomBytes(32).toString('base64'));
  const redact = await redactor(secrets);
  const text =
    "The file '/etc/bind/tsigil/keys.conf' of 5f2d6a9d-1c3b-4a5e-8f70-123456789abc cannot be written.";
  expect(redact(text)).toBe(text);
});
