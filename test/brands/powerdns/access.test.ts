import { expect, test } from 'vitest';
import { matrixOf } from '../../../src/access/access.ts';
import { readPowerdnsAccess } from '../../../src/brands/powerdns/access.ts';

const KEYS = ['K1.', 'k2'].map((name) => ({
  key: { name, algorithm: 'hmac-sha256', secret: 'c2VjcmV0' },
  place: name,
}));
const EVERYWHERE = { dnsupdate: 'yes', 'allow-dnsupdate-from': '0.0.0.0/0, ::/0' };

const configurationOf = (
  metadata: Readonly<Record<string, readonly string[]>>,
  settings: Readonly<Record<string, string>>,
) =>
  readPowerdnsAccess({
    keys: KEYS,
    zones: [{ name: 'X.', metadata: new Map(Object.entries(metadata)) }],
    settings: new Map(Object.entries({ 'allow-axfr-ips': '', ...settings })),
  });

test.each([
  [{ 'TSIG-ALLOW-AXFR': ['k2.', 'k1'] }, {}, ['k2 transfer', 'k1 transfer']],
  // An address or a key permits a transfer, so a key is permitted from everywhere.
  [
    { 'TSIG-ALLOW-AXFR': ['k1.'], 'ALLOW-AXFR-FROM': ['192.0.2.1'] },
    { 'allow-axfr-ips': '198.51.100.0/24,!198.51.100.0/25' },
    ['k1 transfer', 'open: transfer 192.0.2.1,198.51.100.128/25'],
  ],
  [{}, { 'allow-axfr-ips': '0.0.0.0/0, ::/0' }, ['open: transfer everyone']],
  [{ 'TSIG-ALLOW-AXFR': ['k1'] }, { 'disable-axfr': 'yes' }, []],
  // An address and a key permit an update.
  [{ 'TSIG-ALLOW-DNSUPDATE': ['k1', 'K2.'] }, EVERYWHERE, ['k1 update', 'k2 update']],
  [
    { 'TSIG-ALLOW-DNSUPDATE': ['k1'], 'ALLOW-DNSUPDATE-FROM': ['0.0.0.0/0', '::/0'] },
    { dnsupdate: 'yes' },
    ['k1 update'],
  ],
  [
    { 'TSIG-ALLOW-DNSUPDATE': ['k1'] },
    { dnsupdate: 'yes' },
    ['left: k1 update (the list permits this key only from certain addresses)'],
  ],
  [
    { 'TSIG-ALLOW-DNSUPDATE': ['k1'], 'ALLOW-DNSUPDATE-FROM': ['!192.0.2.1'] },
    EVERYWHERE,
    ['left: k1 update (the list permits this key only from certain addresses)'],
  ],
  [{ 'TSIG-ALLOW-DNSUPDATE': ['k1'] }, { ...EVERYWHERE, dnsupdate: 'no' }, []],
  [{ 'TSIG-ALLOW-DNSUPDATE': ['k1'] }, { ...EVERYWHERE, 'allow-dnsupdate-from': '' }, []],
  [{}, EVERYWHERE, ['open: update everyone']],
  [
    { 'TSIG-ALLOW-DNSUPDATE': ['k1'] },
    { ...EVERYWHERE, 'lua-dnsupdate-policy-script': '/x.lua' },
    ['left: k1 update (a Lua policy decides about updates)'],
  ],
  [
    { 'TSIG-ALLOW-DNSUPDATE': ['k1'] },
    { dnsupdate: 'yes', 'allow-dnsupdate-from': '0.0.0.0/0', 'local-address': '192.0.2.1:5300' },
    ['k1 update'],
  ],
])('%j with %j', (metadata, settings, expected) => {
  const { rows, kept, open } = matrixOf(configurationOf(metadata, settings));
  expect([
    ...rows.map(({ key, right }) => `${key} ${right}`),
    ...kept.map(({ key, right, reason }) => `left: ${key} ${right} (${reason})`),
    ...open.map(({ right, addresses }) => `open: ${right} ${String(addresses)}`),
  ]).toEqual(expected);
});

test('keeps the order of the keys, the first of which signs NOTIFY', () => {
  const { zones } = configurationOf({ 'TSIG-ALLOW-AXFR': ['k2', 'k1'] }, {});
  expect(zones.map(({ name, lists }) => [name, lists.transfer?.keys])).toEqual([
    ['x', ['k2', 'k1']],
  ]);
});

test('names the requesters, the keys that are missing, and addresses that are none', () => {
  const { references, findings } = configurationOf(
    { 'AXFR-MASTER-TSIG': ['k1.'], 'TSIG-ALLOW-AXFR': ['k3'], 'ALLOW-AXFR-FROM': ['AUTO-NS'] },
    {},
  );
  expect(references).toEqual([
    {
      key: 'k1',
      role: 'requester',
      place: 'AXFR-MASTER-TSIG of x',
      zone: 'x',
    },
  ]);
  expect(findings.map(({ kind, place, text }) => `${kind} (${place}): ${text}`)).toEqual([
    "undefined_key (TSIG-ALLOW-AXFR of x): the key 'k3' is defined nowhere",
    "other_addresses (ALLOW-AXFR-FROM of x): 'AUTO-NS' is not an address: which requests it permits is not known",
  ]);
});
