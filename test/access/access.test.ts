import { expect, test } from 'vitest';
import {
  addressOf,
  contains,
  matrixOf,
  prefixOf,
  type AccessList,
  type Range,
  type Requester,
  type ServerConfiguration,
} from '../../src/access/access.ts';

const NET = prefixOf(addressOf('192.0.2.0'), 24);
const HOST = prefixOf(addressOf('192.0.2.1'));
const NET6 = prefixOf(addressOf('2001:db8::'), 32);
const inside = (range: Range, { address }: Requester) => contains(range, address);

/** A list that names the key `k`. */
function listOf(
  permits: (requester: Requester) => boolean,
  more: Partial<AccessList> = {},
): AccessList {
  return { ranges: [], keys: ['k'], place: 'named.conf:1', permits, ...more };
}

function configuration(
  lists: readonly AccessList[],
  more: Partial<ServerConfiguration> = {},
): ServerConfiguration {
  return {
    keys: [{ key: { name: 'K.', algorithm: 'hmac-sha256', secret: 'AAAA' }, place: 'x:1' }],
    zones: lists.map((transfer, index) => ({
      name: 'z',
      ...(lists.length > 1 ? { view: `v${index}` } : {}),
      place: 'named.conf:2',
      lists: { transfer, update: undefined },
    })),
    references: [],
    unread: [],
    findings: [],
    ...more,
  };
}

const GRANT = [{ key: 'k', right: 'transfer', zones: ['z'] }];
const kept = (reason: string, partial: boolean) => [
  { key: 'k', right: 'transfer', zones: ['z'], reason, place: 'named.conf:1', partial },
];
const ADDRESS = 'the list permits this key only from certain addresses';
const REFUSES = 'the list refuses this key where it permits requests without a key';
const openTo = (addresses: 'everyone' | readonly string[]) => [
  { right: 'transfer', zones: ['z'], addresses },
];
const signed = ({ key }: Requester) => key === 'k';

test.each([
  ['the key from everywhere', listOf(signed), { rows: GRANT }],
  [
    'the key from everywhere, and addresses without a key',
    listOf((by) => signed(by) || inside(NET, by), { ranges: [NET] }),
    { rows: GRANT, open: openTo(['192.0.2.0/24']) },
  ],
  ['everyone before the key', listOf(() => true), { open: openTo('everyone') }],
  [
    'the key before everyone',
    listOf(() => true, { keysBeforeEveryone: ['k'] }),
    { rows: GRANT, open: openTo('everyone') },
  ],
  [
    'an address and the key',
    listOf((by) => signed(by) && inside(HOST, by), { ranges: [HOST] }),
    { kept: kept(ADDRESS, true) },
  ],
  [
    'a network without one of its addresses, and the key',
    listOf((by) => signed(by) && inside(NET, by) && !inside(HOST, by), { ranges: [NET, HOST] }),
    { kept: kept(ADDRESS, true) },
  ],
  [
    'every IPv4 address and the key',
    listOf(({ key, address }) => key === 'k' && address.family === 4),
    { kept: kept(ADDRESS, true) },
  ],
  [
    'an address, whether or not the key signs',
    listOf((by) => inside(NET6, by), { ranges: [NET6] }),
    { open: openTo(['2001:db8::/32']) },
  ],
  [
    'everyone but the key',
    listOf((by) => !signed(by)),
    { kept: kept(REFUSES, false), open: openTo('everyone') },
  ],
  ['no one', listOf(() => false), {}],
  [
    'the key and addresses of the server',
    listOf((by) => signed(by) || by.local === 'localhost', { namesLocal: true }),
    { rows: GRANT, open: openTo(['localhost']) },
  ],
  [
    'the key, only from addresses of the server',
    listOf((by) => signed(by) && by.local !== undefined, { namesLocal: true }),
    { kept: kept(ADDRESS, true) },
  ],
  [
    'a list that no grant can express',
    listOf(signed, { inexpressible: new Map([['k', 'only over TLS']]) }),
    { kept: kept('only over TLS', true) },
  ],
  [
    'another key that no grant can express',
    listOf(signed, { inexpressible: new Map([['other', 'only some names']]) }),
    { rows: GRANT },
  ],
])('a list that permits %s becomes its grant, or stays in the configuration', (_, list, wanted) => {
  expect(matrixOf(configuration([list]))).toEqual({ rows: [], kept: [], open: [], ...wanted });
});

test('every IPv4 address of a server that listens on no other is everywhere', () => {
  const list = listOf(({ key, address }) => key === 'k' && address.family === 4);
  const { rows } = matrixOf(configuration([list], { families: [4] }));
  expect(rows).toEqual(GRANT);
});

const VIEWS = 'the zone is in several views, which do not agree on this key';

test.each([
  ['permit the key', signed, signed, { rows: GRANT }],
  ['disagree on the key', signed, () => false, { kept: kept(VIEWS, true) }],
])('a zone in two views that %s', (_, one, other, wanted) => {
  const lists = [
    listOf((by) => inside(NET, by) && one(by), { ranges: [NET] }),
    listOf((by) => !inside(NET, by) && other(by), { ranges: [NET] }),
  ];
  expect(matrixOf(configuration(lists))).toEqual({ rows: [], kept: [], open: [], ...wanted });
});

const SECOND = {
  key: { name: 'k', algorithm: 'hmac-sha256', secret: 'BBBB' },
  place: 'x:9',
  view: 'v',
};
const FIRST = { ...SECOND, key: { ...SECOND.key, secret: 'AAAA' } };
const controlled = (role: 'control' | 'session') => ({
  references: [{ key: 'k', role, place: 'x:3' }],
});

test.each([
  [
    'a file could not be read',
    { unread: ["'/x' of named.conf:3"] },
    "'/x' of named.conf:3 could not be read, and may refuse this key",
  ],
  [
    'two keys have its name',
    { keys: [FIRST, SECOND] },
    'the configuration has different keys with this name',
  ],
  ['it controls the server', controlled('control'), 'this key controls the server'],
  [
    'it belongs to the session',
    controlled('session'),
    'the server replaces this key at each start',
  ],
])('a key has no grant if %s', (_, more, reason) => {
  const { rows, kept: left } = matrixOf(configuration([listOf(signed)], more));
  expect({ rows, left }).toEqual({ rows: [], left: kept(reason, true) });
});

test('a key that the configuration does not define has no row', () => {
  const { rows, kept: left } = matrixOf(configuration([listOf(signed)], { keys: [] }));
  expect({ rows, left }).toEqual({ rows: [], left: [] });
});

test('5,000 zones with one list are one row, and the list is evaluated once', () => {
  let calls = 0;
  const transfer = listOf((by) => {
    calls += 1;
    return signed(by);
  });
  const zones = Array.from({ length: 5000 }, (_, index) => ({
    name: `z${index}`,
    place: 'x:1',
    lists: { transfer, update: undefined },
  }));
  const { rows } = matrixOf({ ...configuration([]), zones });
  expect(rows).toEqual([{ key: 'k', right: 'transfer', zones: zones.map(({ name }) => name) }]);
  expect(calls).toBeLessThan(10);
});
