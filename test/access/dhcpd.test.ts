import { expect, test } from 'vitest';
import { matrixOf, saysUses } from '../../src/access/access.ts';
import { readDhcpdAccess } from '../../src/access/dhcpd.ts';
import { KeyFileError } from '../../src/formats/reader.ts';

const K = '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=';

test('the keys of ISC DHCP are those of a client, which open nothing', () => {
  const configuration = readDhcpdAccess(`
default-lease-time 600;
key k { algorithm hmac-sha256; secret ${K}; }
key o { algorithm hmac-sha256; secret ${K}; }
omapi-key o;
zone example.org. { primary 192.0.2.1; key k; }
`);
  expect(saysUses(configuration)).toBe(true);
  expect(matrixOf(configuration)).toEqual({ rows: [], kept: [], open: [] });
  expect(configuration.references.map(({ key, role }) => `${key} ${role}`)).toEqual([
    'k requester',
    'o control',
  ]);
});

test('a key clause without its end is refused with the line', () => {
  expect(() => readDhcpdAccess(`\nkey k { algorithm hmac-sha256; secret ${K};`)).toThrow(
    new KeyFileError({ line: 2 }, 'the key clause that begins here has no end'),
  );
});
