import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { readNsdAccess } from '../../../src/brands/nsd/access.ts';
import { exportKey } from '../../../src/keys/export/export-formats.ts';
import { KEYS, NAMES, oneOf, some, type Search } from '../random-access.ts';
import { nsd } from './nsd.ts';

const NSD_ADDRESSES = [
  '127.0.0.1',
  '127.0.0.2/31',
  '127.0.0.1-127.0.0.3',
  '127.0.0.4&255.0.0.6',
  '127.0.0.0/8',
  '127.0.0.0&255.255.255.252',
  '0.0.0.0/0',
  '0.0.0.0/0',
  '10.0.0.0/8',
  '::1',
  '::/0',
];
const NSD_PATTERNS = Array.from({ length: 8 }, (_, index) => `pattern-${index + 1}`);

const nsdLine = fc.tuple(oneOf(...NSD_ADDRESSES), oneOf(...NAMES, ...NAMES, 'NOKEY', 'BLOCKED'));
const nsdLines = fc
  .array(nsdLine, { maxLength: 4 })
  .map((lines) => lines.map(([address, who]) => `    provide-xfr: ${address} ${who}\n`).join(''));
const nsdZone = fc.record({ lines: nsdLines, patterns: some(NSD_PATTERNS, 2) });
const nsdConfiguration = (zones: number) =>
  fc.record({
    patterns: fc.tuple(...NSD_PATTERNS.map(() => nsdZone)),
    zones: fc.array(nsdZone, { minLength: zones, maxLength: zones }),
  });

export const nsdSearch: Search = {
  brand: nsd,
  keys: KEYS,
  configure(seed, zones, folder, port) {
    const [random] = fc.sample(nsdConfiguration(zones.length), { seed, numRuns: 1 });
    if (random === undefined) throw new Error('no sample');
    const include = (patterns: readonly string[]) =>
      patterns.map((pattern) => `    include-pattern: ${pattern}\n`).join('');
    nsd.configure(folder, port, 0, []);
    return [
      readFileSync(join(folder, 'nsd.conf'), 'utf8').replace(/^include:.*\n/m, ''),
      ...KEYS.map((key) => exportKey('nsd', key).text),
      ...random.patterns.map(
        ({ lines, patterns }, index) =>
          `pattern:\n    name: pattern-${index + 1}\n${lines}${include(patterns.filter((each) => NSD_PATTERNS.indexOf(each) < index))}`,
      ),
      ...random.zones.map(
        ({ lines, patterns }, index) =>
          `zone:\n    name: ${zones[index]}\n    zonefile: ${zones[index]}.zone\n${include(patterns.slice(1))}${lines}${include(patterns.slice(0, 1))}`,
      ),
    ].join('');
  },
  read: (text) => readNsdAccess(text),
};
