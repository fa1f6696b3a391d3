import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCovered, networksOf, readNetwork } from '../../../src/core/text/networks.ts';

describe('readNetwork', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1/32'],
    ['192.0.2.0/24', '192.0.2.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::/0', '::/0'],
    ['2001:DB8:0:0::/32', '2001:db8::/32'],
    ['::1', '::1/128'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8/128'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201/128'],
  ])('reads %s as %s', (text, value) => {
    expect(readNetwork(text)).toEqual({ value });
  });

  test.each([
    ['192.0.2.7/24', "use '192.0.2.0/24'"],
    ['2001:db8::1/32', "use '2001:db8::/32'"],
    ['255.255.255.255/1', "use '128.0.0.0/1'"],
    ['::ffff:192.0.2.1', 'IPv4 form'],
    ['fe80::1%eth0', 'must be an IP address'],
    ['192.0.2.0/33', 'must be an IP address'],
    ['192.0.2.0/024', 'must be an IP address'],
    ['192.0.2.0/', 'must be an IP address'],
    ['192.0.2.0/24/24', 'must be an IP address'],
    ['192.0.2', 'must be an IP address'],
    ['example.org', 'must be an IP address'],
    ['', 'must be an IP address'],
  ])('rejects %s and suggests a correct value or states the rule', (text, problem) => {
    expect(readNetwork(text)).toMatchObject({ problem: expect.stringContaining(problem) });
  });

  test('accepts every network that is written with its first address', () => {
    const network = fc.oneof(
      fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })),
      fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 })),
    );
    fc.assert(
      fc.property(network, ([address, prefix]) => {
        const read = readNetwork(`${address}/${prefix}`);
        const suggested = 'value' in read ? read.value : /use '(.*)'$/.exec(read.problem)?.[1];
        if (suggested === undefined) return; // refused: an IPv4 address in IPv6 form
        expect(readNetwork(suggested)).toEqual({ value: suggested });
        expect(networksOf([suggested]).includes(address)).toBe(true);
        expect(isCovered(suggested, [suggested])).toBe(true);
      }),
    );
  });
});

test('isCovered requires one network that contains every address', () => {
  expect(isCovered('192.0.2.0/25', ['10.0.0.0/8', '192.0.2.0/24'])).toBe(true);
  expect(isCovered('192.0.2.0/24', ['192.0.2.0/25', '192.0.2.128/25'])).toBe(false);
  expect(isCovered('::1/128', ['0.0.0.0/0'])).toBe(false);
  expect(isCovered('0.0.0.0/0', ['::/0'])).toBe(false);
  expect(isCovered('192.0.2.1', ['192.0.2.1'])).toBe(true);
});
