import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BRANDS, type BrandName } from '../../src/brands/brands.ts';
import { readUse } from '../../src/brands/key-log.ts';

const B = '23-Nov-2026 22:03:51.225 client @0x7f81f0e22898 192.0.2.4#42526';
const K = '2026-11-23T22:03:51+0000 debug: [a.test.] ACL,';
const N = '[2026-11-23 22:03:52.632] nsd[921]: error:';
const P = 'Nov 23 22:03:53';

const use = (
  operation: string,
  outcome: string,
  key = 'k',
  address = '192.0.2.4',
  port = 42526,
) => ({
  operation,
  outcome,
  key,
  address,
  port,
});
const unnamed = (operation: string, outcome: string, key = 'k') => ({
  ...use(operation, outcome, key, ''),
  port: undefined,
});

/** Lines of the versions in Debian 12. */
const LINES: Readonly<Record<BrandName, readonly (readonly [string, object | undefined])[]>> = {
  bind: [
    [
      `${B}/key k (a.test): transfer of 'a.test/IN': AXFR started: TSIG k (serial 5)`,
      use('transfer', 'accepted'),
    ],
    [
      `${B}/key k (a.test): transfer of 'a.test/IN': AXFR-style IXFR started: TSIG k (serial 5 -> 6)`,
      use('transfer', 'accepted'),
    ],
    [
      `${B}/key k (a.test): transfer of 'a.test/IN': IXFR started: TSIG k (serial 5 -> 6)`,
      use('transfer', 'accepted'),
    ],
    [
      `${B}/key k (a.test): transfer of 'a.test/IN': IXFR poll up to date: TSIG k`,
      use('transfer', 'accepted'),
    ],
    [`${B}/key k (a.test): transfer of 'a.test/IN': AXFR ended: 1 messages, 4 records`, undefined],
    [`${B}/key k (a.test): zone transfer 'a.test/AXFR/IN' denied`, use('transfer', 'denied')],
    [`${B} (a.test): zone transfer 'a.test/AXFR/IN' denied`, undefined],
    [`${B}/key k (a.test): query: a.test IN SOA -S (192.0.2.1)`, use('query', 'accepted')],
    [
      `${B}/key k (a.test): view inside: query: a.test IN SOA -S (192.0.2.1)`,
      use('query', 'accepted'),
    ],
    [`${B} (a.test): query: a.test IN SOA - (192.0.2.1)`, undefined],
    [`${B}/key k: signer "k" approved`, use('update', 'accepted')],
    [`${B}/key k: update 'a.test/IN' denied`, use('update', 'denied')],
    [`${B}/key k: received notify for zone 'a.test': TSIG 'k'`, use('notify', 'accepted')],
    [
      `${B}: request has invalid signature: TSIG k: tsig verify failure (BADKEY)`,
      use('request', 'refused'),
    ],
    [
      `${B}: request has invalid signature: TSIG k: tsig verify failure (BADSIG)`,
      use('request', 'refused'),
    ],
    [`zone a.test/IN: transferred serial 6: TSIG 'k'`, unnamed('refresh', 'accepted')],
    [
      `client @0x7f 2001:db8::4#53/key k: signer "k" approved`,
      use('update', 'accepted', 'k', '2001:db8::4', 53),
    ],
    [
      `client @0x7f fe80::4%eth0#53/key k (a.test): query: a.test IN SOA -S (fe80::1%eth0)`,
      use('query', 'accepted', 'k', 'fe80::4', 53),
    ],
  ],
  knot: [
    [
      `${K} allowed, action transfer, remote 192.0.2.4@42526, key 'k.'`,
      use('transfer', 'accepted', 'k.'),
    ],
    [
      `${K} allowed, action update, remote 192.0.2.4@42526, key 'k.'`,
      use('update', 'accepted', 'k.'),
    ],
    [
      `${K} allowed, action notify, remote 192.0.2.4@42526, key 'k.'`,
      use('notify', 'accepted', 'k.'),
    ],
    [
      `${K} allowed, action query, remote 2001:db8::4@53, key 'k.'`,
      use('query', 'accepted', 'k.', '2001:db8::4', 53),
    ],
    [
      `${K} denied, action transfer, remote 192.0.2.4@42526, key 'k.'`,
      use('transfer', 'refused', 'k.'),
    ],
    [`${K} denied, action transfer, remote 192.0.2.4@42526, key none`, undefined],
    [`info: [a.test.] AXFR, outgoing, remote 192.0.2.4@42526, started, serial 5`, undefined],
  ],
  nsd: [
    [
      `${N} query: bad tsig (Bad Key) for key k. from 192.0.2.4`,
      { ...use('request', 'refused', 'k.'), port: undefined },
    ],
    [
      `${N} query: bad tsig signature for key k. from 192.0.2.4`,
      { ...use('request', 'refused', 'k.'), port: undefined },
    ],
    [`info: axfr for a.test. from 192.0.2.4`, undefined],
    [`info: axfr for a.test. from 192.0.2.4 refused, no acl matches`, undefined],
    [
      `info: zone a.test committed "received update to serial 6 at 2026-11-23T22:03:52 from 192.0.2.4@42526 TSIG verified with key k."`,
      use('refresh', 'accepted', 'k.'),
    ],
  ],
  powerdns: [
    [
      `${P} AXFR-out zone 'a.test', client '192.0.2.4:42526', allowed: TSIG signed request with authorized key 'k' and algorithm 'hmac-sha256'`,
      use('transfer', 'accepted'),
    ],
    [
      `${P} IXFR-out zone 'a.test', client '[2001:db8::4]:53', allowed: TSIG signed request with authorized key 'k' and algorithm 'hmac-sha256'`,
      use('transfer', 'accepted', 'k', '2001:db8::4', 53),
    ],
    [
      `${P} AXFR-out zone 'a.test', client '192.0.2.4:42526', denied: key with name 'k' and algorithm 'hmac-sha256.' does not grant access`,
      use('transfer', 'denied'),
    ],
    [
      `${P} AXFR-out zone 'a.test', client '192.0.2.4:42526', denied: client IP has no permission`,
      undefined,
    ],
    [
      `${P} Packet for domain 'a.test' denied: can't find TSIG key with name 'k' and algorithm '(empty)'`,
      unnamed('request', 'refused'),
    ],
    [
      `${P} Packet for 'a.test' denied: Signature with TSIG key 'k' failed to validate`,
      unnamed('request', 'refused'),
    ],
    [
      `${P} Received secure NOTIFY for a.test from 192.0.2.4:42526, with TSIG key 'k'`,
      use('notify', 'accepted'),
    ],
    [`${P} UPDATE (46238) from 192.0.2.4 for a.test: Adding record probe.a.test|TXT`, undefined],
  ],
};

describe.each(Object.entries(BRANDS))('a log of %s', (name, { log }) => {
  test.each(LINES[name as BrandName])('%s', (line, expected) => {
    expect(readUse(log, line)).toEqual(expected);
  });

  test('never fails, for any line', () => {
    const parts = LINES[name as BrandName].flatMap(([line]) => line.split(/(?<=[ '#@])/));
    const piece = fc.oneof(fc.constantFrom(...parts), fc.string());
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const found = readUse(log, pieces.join(''));
        if (found === undefined) return;
        expect(found.key).not.toBe('');
        expect(found.address).toMatch(/^[0-9a-fA-F.:]{0,45}$/);
      }),
    );
  });

  test('takes little time, for long lines of characters that an address has', () => {
    for (const part of ['a', 'client a', "[AI]XFR-out zone '", ' from ::'])
      expect(readUse(log, part.repeat(4096 / part.length))).toBeUndefined();
    expect(readUse(log, 'a'.repeat(1_000_000))).toBeUndefined();
  });
});
