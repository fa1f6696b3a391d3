import { expect, test } from 'vitest';
import { publicationOf } from '../../src/access/published-secrets.ts';

test.each([
  [
    '4EJz00m4ZWe005HjLiXRedJbSnCUx5Dt+4wVYsBweG5HKAV6cqSVJ/oem/6mLgDNFAlLP3Jg0npbg1SkP7RMDg==',
    'documentation of OpenStack Designate, TSIG keys',
  ],
  [Buffer.from('mekmitasdigoat').toString('base64'), 'example nsd.conf of OpenBSD'],
  [Buffer.alloc(16).toString('base64'), 'placeholder of 16 zero octets'],
  [Buffer.alloc(17).toString('base64'), undefined],
])('the source of a published secret: %s', (secret, source) => {
  expect(publicationOf(secret)).toBe(source);
});
