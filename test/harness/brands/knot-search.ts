import fc from 'fast-check';
import { readKnotAccess } from '../../../src/brands/knot/access.ts';
import { knotKey } from '../../../src/brands/knot/brand.ts';
import { KEYS, NAMES, oneOf, some, type Search } from '../random-access.ts';
import { knot } from './knot.ts';

const list = (values: readonly string[]) => `[${values.join(', ')}]`;
const item = (name: string, values: readonly string[]) =>
  values.length === 0 ? '' : `    ${name}: ${list(values)}\n`;

const KNOT_ADDRESSES = [
  '127.0.0.1',
  '127.0.0.2/31',
  '127.0.0.1-127.0.0.3',
  '127.0.0.3-127.0.0.9',
  '127.0.0.0/8',
  '0.0.0.0/0',
  '10.0.0.0/8',
  '::1',
  '::/0',
];
const KNOT_RULES = Array.from({ length: 16 }, (_, index) => `rule-${index + 1}`);
const KNOT_REMOTES = ['remote-1', 'remote-2', 'remote-3', 'remote-4'];

const knotRemote = fc.record({
  addresses: fc.uniqueArray(oneOf('127.0.0.1@1', '127.0.0.2', '127.0.0.3@1', '::1'), {
    minLength: 1,
    maxLength: 2,
  }),
  key: oneOf(undefined, ...NAMES),
  off: fc.boolean(),
});
const knotRule = fc.record({
  remotes: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: some([...KNOT_REMOTES, 'group'], 2) },
  ),
  addresses: fc.oneof(fc.constant([]), some(KNOT_ADDRESSES, 2)),
  keys: some(NAMES, 2),
  actions: fc.oneof(
    fc.constant(['transfer', 'update']),
    some(['transfer', 'update', 'notify', 'query']),
  ),
  deny: oneOf('', '', '    deny: on\n', '    deny: off\n'),
  limit: oneOf('', '', '', '', '', '    update-type: [TXT]\n', '    update-owner: key\n'),
});
const knotZone = fc.record({
  rules: some(KNOT_RULES, 4),
  notify: some([...KNOT_REMOTES, 'group'], 1),
  template: oneOf('', '', '    template: other\n'),
});
const knotConfiguration = (zones: number) =>
  fc.record({
    remotes: fc.tuple(...KNOT_REMOTES.map(() => knotRemote)),
    rules: fc.tuple(...KNOT_RULES.map(() => knotRule)),
    templates: fc.tuple(knotZone, knotZone),
    zones: fc.array(knotZone, { minLength: zones, maxLength: zones }),
    automatic: oneOf('on', 'off'),
  });

export const knotSearch: Search = {
  brand: knot,
  keys: KEYS,
  configure(seed, zones, folder, port) {
    const [random] = fc.sample(knotConfiguration(zones.length), { seed, numRuns: 1 });
    if (random === undefined) throw new Error('no sample');
    const accessOf = ({ rules, notify }: { rules: string[]; notify: string[] }) =>
      item('acl', rules) + item('notify', notify);
    const sections = [
      `server:\n    rundir: "${folder}"\n    listen: 127.0.0.1@${port}\n    automatic-acl: ${random.automatic}\n`,
      `database:\n    storage: "${folder}"\n`,
      'key:\n',
      ...KEYS.map(knotKey),
      'remote:\n',
      ...random.remotes.map(
        ({ addresses, key, off }, index) =>
          `  - id: remote-${index + 1}\n${item('address', addresses)}${key === undefined ? '' : `    key: ${key}\n`}${off ? '    automatic-acl: off\n' : ''}`,
      ),
      'remotes:\n  - id: group\n    remote: [remote-1, remote-2]\n',
      'acl:\n',
      ...random.rules.map(({ remotes, addresses, keys, actions, deny, limit }, index) => {
        const isUpdate = actions.includes('update') && keys.length > 0 && remotes.length === 0;
        return `  - id: rule-${index + 1}\n${
          remotes.length > 0
            ? item('remote', remotes)
            : item('address', addresses) + item('key', keys)
        }${item('action', actions)}${deny}${isUpdate ? limit : ''}`;
      }),
      'template:\n',
      `  - id: default\n${accessOf(random.templates[0])}`,
      `  - id: other\n${accessOf(random.templates[1])}`,
      'zone:\n',
      ...random.zones.map(
        (zone, index) =>
          `  - domain: ${zones[index]}\n${zone.template}    storage: "${folder}"\n    file: ${zones[index]}.zone\n${accessOf(zone)}`,
      ),
    ];
    return sections.join('');
  },
  read: (text) => readKnotAccess(text),
};
