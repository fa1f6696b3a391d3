import type { Key } from '../../formats/key.ts';
import { comments, EVERY_ALGORITHM, lines, quoted, secondaryZone } from '../../formats/writer.ts';
import { addZoneToFile, keyFileCommands, zoneComments, type Brand } from '../brand.ts';
import { ADDRESS, type KeyLog } from '../key-log.ts';

export function nsdKey({ name, algorithm, secret }: Key): string {
  return lines(
    'key:',
    `    name: ${quoted(name)}`,
    `    algorithm: ${algorithm}`,
    `    secret: ${quoted(secret)}`,
  );
}

/** Returns a section with the pattern of this name, which permits transfers with the keys. */
export function nsdPattern(name: string, keys: readonly string[] = []): string {
  return lines('pattern:', `    name: ${quoted(name)}`, ...keys.flatMap(grantsTo));
}

function grantsTo(key: string): string[] {
  return ['0.0.0.0/0', '::/0'].map((network) => `    provide-xfr: ${network} ${quoted(key)}`);
}

const FOLDER = '/etc/nsd/tsigil';

const NEVER = 'NSD never logs the key of a transfer';

const log: KeyLog = {
  lines: [
    {
      pattern: new RegExp(
        String.raw`query: bad tsig (?:\([^)]*\)|signature) for key (?<key>[^ ]+) from ${ADDRESS}$`,
      ),
      operation: 'request',
      outcome: 'refused',
    },
    {
      pattern: new RegExp(
        String.raw` from ${ADDRESS}@(?<port>\d+) TSIG verified with key (?<key>[^ "]+)`,
      ),
      operation: 'refresh',
      outcome: 'accepted',
    },
  ],
  complete: { transfer: NEVER, update: NEVER },
  setup: "To see the keys with which NSD itself requests zones, set 'verbosity: 1' and a logfile.",
};

export const nsd = {
  title: 'NSD',
  supports: {
    transfer: true,
    update: 'NSD does not support dynamic updates',
    unknownKeys: 'Only Tsigil writes to the file with its keys',
  },
  checker: 'nsd-checkconf',
  minimumIntervalMs: 0,
  exports: {
    writeSecondary: (key, primary) =>
      nsdKey(key) +
      secondaryZone(primary, (zone) => [
        'zone:',
        `    name: ${quoted(zone)}`,
        `    request-xfr: ${primary.host}@${primary.port} ${quoted(key.name)}`,
        `    allow-notify: ${primary.host} ${quoted(key.name)}`,
      ]),
    consumer: 'NSD',
    extension: 'conf',
    algorithms: EVERY_ALGORITHM,
    writeAll: (keys) =>
      keys.map(nsdKey).join('') +
      comments(
        'To permit transfers, add these attributes to a zone or pattern. NSD does not support updates.',
        ...keys.flatMap(({ name }) => grantsTo(name)),
      ),
  },
  log,
  recipe: {
    group: 'nsd',
    files: (zones, user) => keyFileCommands(user, 'nsd', FOLDER, zones, ['transfer'], nsdPattern),
    configuration: '/etc/nsd/nsd.conf',
    lines: (zones) => `remote-control:
    control-enable: yes
    control-interface: "/run/nsd/nsd.sock"
# Above the zones:
include: "${FOLDER}/keys.conf"
${zoneComments(zones, (zone) => [
  'include-pattern: "tsigil-transfer"',
  `include-pattern: "tsigil-transfer-${zone}"`,
])}`,
    local: () => ({ file: `${FOLDER}/keys.conf`, controlSocket: '/run/nsd/nsd.sock' }),
    restart: 'nsd',
    addZone: addZoneToFile,
  },
  moveAddedZone: (zone) =>
    `Write the zone ${zone} with its pattern to it, and run: nsd-control delzone ${zone} && nsd-control reconfig`,
} satisfies Brand;
