import type { Right } from '../../access/rights.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import {
  contains,
  type AccessList,
  type Address,
  type DefinedKey,
  type Finding,
  type Range,
  type Reference,
  type ServerConfiguration,
  type ZoneAccess,
} from '../../access/access.ts';
import { familiesOf, readRange } from '../../access/ranges.ts';

interface PowerdnsServer {
  readonly keys: readonly DefinedKey[];
  readonly zones: readonly {
    readonly name: string;
    /** The values of each kind of metadata, in their order. */
    readonly metadata: ReadonlyMap<string, readonly string[]>;
  }[];
  readonly settings: ReadonlyMap<string, string>;
}

/** The settings that decide access, with their defaults. */
export const POWERDNS_SETTINGS = {
  'allow-axfr-ips': '127.0.0.0/8,::1',
  'allow-dnsupdate-from': '127.0.0.0/8,::1',
  'disable-axfr': 'no',
  dnsupdate: 'no',
  'local-address': '0.0.0.0, ::',
  'lua-dnsupdate-policy-script': '',
} as const;

const TSIG_KINDS = ['TSIG-ALLOW-AXFR', 'TSIG-ALLOW-DNSUPDATE', 'AXFR-MASTER-TSIG'];
const ADDRESS_KINDS = ['ALLOW-AXFR-FROM', 'ALLOW-DNSUPDATE-FROM'];

export function readPowerdnsAccess(server: PowerdnsServer): ServerConfiguration {
  const { keys, settings } = server;
  const settingOf = (name: keyof typeof POWERDNS_SETTINGS) =>
    settings.get(name) ?? POWERDNS_SETTINGS[name];
  const defined = new Set(keys.map(({ key }) => nameForm(key.name)));
  const findings: Finding[] = [];
  const references: Reference[] = [];
  const lists = new Map<string, AccessList>();
  const shared = (id: readonly unknown[], create: () => AccessList) => {
    const text = JSON.stringify(id);
    const list = lists.get(text) ?? create();
    lists.set(text, list);
    return list;
  };
  const transferAddresses = groupOf(wordsOf(settingOf('allow-axfr-ips')));
  const updateAddresses = wordsOf(settingOf('allow-dnsupdate-from'));
  const policy = settingOf('lua-dnsupdate-policy-script');

  const zones = server.zones.map(({ name: text, metadata }): ZoneAccess => {
    const name = nameForm(text);
    const placeOf = (kind: string) => `${kind} of ${name}`;
    for (const kind of TSIG_KINDS)
      for (const key of metadata.get(kind) ?? [])
        if (!defined.has(nameForm(key)))
          findings.push({
            kind: 'undefined_key',
            place: placeOf(kind),
            text: `the key '${key}' is defined nowhere`,
          });
    for (const kind of ADDRESS_KINDS)
      for (const address of metadata.get(kind) ?? [])
        if (readMask(address) === undefined)
          findings.push({
            kind: 'other_addresses',
            place: placeOf(kind),
            text: `'${address}' is not an address: which requests it permits is not known`,
          });
    for (const key of metadata.get('AXFR-MASTER-TSIG') ?? [])
      references.push({
        key: nameForm(key),
        role: 'requester',
        place: placeOf('AXFR-MASTER-TSIG'),
        zone: name,
      });
    const signers = (kind: string) => (metadata.get(kind) ?? []).map(nameForm);
    const transfer = () => {
      const signed = signers('TSIG-ALLOW-AXFR');
      const from = metadata.get('ALLOW-AXFR-FROM') ?? [];
      return shared(['transfer', signed, from], () =>
        transferList(signed, transferAddresses, groupOf(from), placeOf('TSIG-ALLOW-AXFR')),
      );
    };
    const update = () => {
      const signed = signers('TSIG-ALLOW-DNSUPDATE');
      const from = [...(metadata.get('ALLOW-DNSUPDATE-FROM') ?? []), ...updateAddresses];
      return shared(['update', signed, from], () =>
        updateList(signed, groupOf(from), policy !== '', placeOf('TSIG-ALLOW-DNSUPDATE')),
      );
    };
    const right: Record<Right, AccessList | undefined> = {
      transfer: isYes(settingOf('disable-axfr')) ? undefined : transfer(),
      update: isYes(settingOf('dnsupdate')) ? update() : undefined,
    };
    return { name, place: `zone ${name}`, lists: right };
  });
  const families = familiesOf(
    wordsOf(settingOf('local-address')).map((each) =>
      each.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1'),
    ),
  );
  return {
    keys,
    zones,
    ...(families === undefined ? {} : { families }),
    references,
    unread: [],
    findings,
  };
}

/** A key from every address, or an address without a key. */
function transferList(
  keys: readonly string[],
  everywhere: Group,
  zone: Group,
  place: string,
): AccessList {
  return {
    ranges: [...everywhere.ranges, ...zone.ranges],
    keys,
    // A signed request is judged by its key alone.
    keysBeforeEveryone: keys,
    place,
    permits: ({ address, key }) =>
      key === undefined
        ? everywhere.includes(address) || zone.includes(address)
        : keys.includes(key),
  };
}

/** An address, and a key if the list names keys. */
function updateList(
  keys: readonly string[],
  from: Group,
  hasPolicy: boolean,
  place: string,
): AccessList {
  return {
    ranges: from.ranges,
    keys,
    keysBeforeEveryone: keys,
    place,
    permits: ({ address, key }) =>
      from.includes(address) && (keys.length === 0 || (key !== undefined && keys.includes(key))),
    ...(hasPolicy
      ? { inexpressible: new Map(keys.map((key) => [key, 'a Lua policy decides about updates'])) }
      : {}),
  };
}

interface Group {
  readonly ranges: readonly Range[];
  includes(address: Address): boolean;
}

/** Returns a group of masks. The longest mask decides, and `!` before a mask excludes it. */
function groupOf(texts: readonly string[]): Group {
  const masks = texts.flatMap((text) => readMask(text) ?? []);
  return {
    ranges: masks.map(({ range }) => range),
    includes(address) {
      let found: (typeof masks)[number] | undefined;
      for (const mask of masks)
        if (contains(mask.range, address) && (found === undefined || isWithin(mask, found)))
          found = mask;
      return found !== undefined && !found.excludes;
    },
  };
}

function isWithin(inner: { range: Range }, outer: { range: Range }): boolean {
  return inner.range.first >= outer.range.first && inner.range.last <= outer.range.last;
}

function readMask(text: string) {
  const excludes = text.startsWith('!');
  const range = text.includes('-') ? undefined : readRange(text.slice(excludes ? 1 : 0));
  return range === undefined ? undefined : { excludes, range };
}

function wordsOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter((word) => word !== '');
}

function isYes(text: string): boolean {
  return !/^(?:no|off|false|0)?$/i.test(text);
}
