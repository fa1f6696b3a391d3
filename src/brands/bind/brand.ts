import type { Key } from '../../formats/key.ts';
import { OWN_KEYS } from '../../formats/own-keys.ts';
import { comments, EVERY_ALGORITHM, lines, quoted, secondaryZone } from '../../formats/writer.ts';
import { addZoneToFile, keyFileCommands, zoneComments, type Brand } from '../brand.ts';
import { RIGHTS } from '../../access/rights.ts';
import { ADDRESS, type KeyLog } from '../key-log.ts';

/** One statement on each line, because lego and CoreDNS can parse only this layout. */
export function bindClause({ name, algorithm, secret }: Key): string {
  return lines(
    `key ${quoted(name)} {`,
    `\talgorithm ${algorithm};`,
    `\tsecret ${quoted(secret)};`,
    '};',
  );
}

/** Returns a named access list. An empty list would be a syntax error. */
export function bindList(name: string, keys: readonly string[] = []): string {
  const elements = keys.length === 0 ? 'none;' : forEachKey(keys, (key) => `key ${key};`);
  return lines(`acl ${quoted(name)} { ${elements} };`);
}

function forEachKey(names: readonly string[], text: (quotedName: string) => string): string {
  return names.map((name) => text(quoted(name))).join(' ');
}

const FOLDER = '/etc/bind/tsigil';

const CLIENT = String.raw`client (?:@\S+ )?${ADDRESS}#(?<port>\d+)`;

/** The start of a line about a request whose signature BIND has verified. */
const SIGNED = String.raw`${CLIENT}/key (?<key>[^ ]+?)(?: \([^ ]*\))?(?:: view [^ ]+)?: `;

const log: KeyLog = {
  lines: [
    {
      pattern: new RegExp(`${SIGNED}transfer of '[^']*': (?:\\S+ (?:IXFR )?started|IXFR poll)`),
      operation: 'transfer',
      outcome: 'accepted',
    },
    {
      pattern: new RegExp(`${SIGNED}zone transfer '[^']*' denied`),
      operation: 'transfer',
      outcome: 'denied',
    },
    { pattern: new RegExp(`${SIGNED}query: `), operation: 'query', outcome: 'accepted' },
    { pattern: new RegExp(`${SIGNED}signer "`), operation: 'update', outcome: 'accepted' },
    {
      pattern: new RegExp(`${SIGNED}update '[^']*' denied`),
      operation: 'update',
      outcome: 'denied',
    },
    {
      pattern: new RegExp(`${SIGNED}received notify for zone `),
      operation: 'notify',
      outcome: 'accepted',
    },
    {
      pattern: new RegExp(
        String.raw`${CLIENT}(?: \([^ ]*\))?(?:: view [^ ]+)?: request has invalid signature: TSIG (?<key>[^ ]+?)(?: \([^)]*\))?: tsig verify failure`,
      ),
      operation: 'request',
      outcome: 'refused',
    },
    {
      pattern: /zone [^ ]+: transferred serial \d+: TSIG '(?<key>[^']+)'/,
      operation: 'refresh',
      outcome: 'accepted',
    },
  ],
  // The query log also shows the requests for transfers, but without it, the queries for the SOA
  // record of a zone that does not change are not in the log.
  complete: { transfer: ['query'], update: ['update'] },
  // BIND applies the option only at its start, not when it loads its configuration again.
  setup:
    "Run 'rndc querylog on', set 'querylog yes;' in the options for its next start, and log the categories of BIND at the level info to one file.",
};

export const bind = {
  title: 'BIND',
  supports: {
    transfer: true,
    update: true,
    unknownKeys: 'Only Tsigil writes to the file with its keys',
  },
  checker: 'named-checkconf',
  minimumIntervalMs: 200, // a reload delays queries
  ownKeys: OWN_KEYS.bind,
  exports: {
    writeSecondary: (key, primary) =>
      bindClause(key) +
      secondaryZone(primary, (zone) => [
        `zone ${quoted(zone)} {`,
        '\ttype secondary;',
        `\tfile ${quoted(`${zone.replaceAll('/', '-')}.db`)};`,
        `\tprimaries { ${primary.host} port ${primary.port} key ${quoted(key.name)}; };`,
        '};',
      ]),
    consumer: 'BIND 9',
    extension: 'conf',
    algorithms: EVERY_ALGORITHM,
    writeAll(keys) {
      const names = keys.map(({ name }) => name);
      return (
        keys.map(bindClause).join('') +
        comments(
          'To permit transfers and updates, add these statements to a zone:',
          `  allow-transfer { ${forEachKey(names, (name) => `key ${name};`)} };`,
          `  allow-update { ${forEachKey(names, (name) => `key ${name};`)} };`,
          'update-policy replaces allow-update. It can limit the records that a key may change:',
          `  update-policy { ${forEachKey(names, (name) => `grant ${name} zonesub ANY;`)} };`,
        )
      );
    },
  },
  log,
  recipe: {
    group: 'bind',
    files: (zones, user) => keyFileCommands(user, 'bind', FOLDER, zones, RIGHTS, bindList),
    configuration: '/etc/bind/named.conf',
    lines: (zones) => `# Above the options and zones:
include "/etc/bind/rndc.key";
include "${FOLDER}/keys.conf";
controls { inet 127.0.0.1 port 953 allow { 127.0.0.1; } keys { "rndc-key"; }; };
# In options, because BIND permits unsigned transfers without this line:
#   allow-transfer { "tsigil-transfer"; };
${zoneComments(zones, (zone) => [
  `allow-transfer { "tsigil-transfer"; "tsigil-transfer-${zone}"; };`,
  `allow-update { "tsigil-update"; "tsigil-update-${zone}"; };`,
])}`,
    local: () => ({ file: `${FOLDER}/keys.conf`, controlKeyFile: '/etc/bind/rndc.key' }),
    restart: 'named',
    addZone: addZoneToFile,
  },
  moveAddedZone: (zone) =>
    `Append the output of 'rndc showzone ${zone}' to it, and run: rndc delzone ${zone} && rndc reconfig`,
} satisfies Brand;
