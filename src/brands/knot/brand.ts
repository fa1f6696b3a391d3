import type { Key } from '../../formats/key.ts';
import { NO_ADDRESS } from '../../formats/read-knot.ts';
import { comments, EVERY_ALGORITHM, lines, quoted, secondaryZone } from '../../formats/writer.ts';
import { addZoneToFile, keyFileCommands, zoneComments, type Brand } from '../brand.ts';
import { RIGHTS } from '../../access/rights.ts';
import { ADDRESS, type KeyLog } from '../key-log.ts';

export function knotKey({ name, algorithm, secret }: Key): string {
  return lines(
    `  - id: ${quoted(`${name}.`)}`,
    `    algorithm: ${algorithm}`,
    `    secret: ${quoted(secret)}`,
  );
}

/** Returns an entry of the section `acl`: the rule with this name. */
export function knotRule(name: string, keys: readonly string[] = []): string {
  const access =
    keys.length === 0
      ? `address: ${NO_ADDRESS}\n    deny: on`
      : `key: [${keys.map((key) => quoted(`${key}.`)).join(', ')}]`;
  const right = name.startsWith('tsigil-update') ? 'update' : 'transfer';
  return lines(`  - id: ${quoted(name)}`, `    action: ${right}`, `    ${access}`);
}

const FOLDER = '/etc/knot/tsigil';

const log: KeyLog = {
  // A denied request may have any signature: Knot DNS verifies only those that it allows.
  lines: (['transfer', 'update', 'notify', 'query'] as const).flatMap((operation) =>
    ([['allowed', 'accepted'] as const, ['denied', 'refused'] as const] as const).map(
      ([word, outcome]) => ({
        pattern: new RegExp(
          String.raw`ACL, ${word}, action ${operation}, remote ${ADDRESS}@(?<port>\d+)[^']*, key '?(?<key>[^' ]+\.)'?`,
        ),
        operation,
        outcome,
      }),
    ),
  ),
  complete: { transfer: ['transfer', 'query'], update: ['update'] },
  setup: "Set 'any: debug' for a file in the section log.",
};

export const knot = {
  title: 'Knot DNS',
  supports: {
    transfer: true,
    update: true,
    unknownKeys: 'Its rules show which keys are from Tsigil',
  },
  hidesUnlistedKeys: true,
  checker: 'knotc conf-check',
  minimumIntervalMs: 0,
  exports: {
    writeSecondary(key, primary) {
      const { name } = key;
      return (
        lines('key:') +
        knotKey(key) +
        lines(
          'remote:',
          // Knot DNS logs only the id of a remote, not the key.
          `  - id: ${quoted(name)}`,
          `    address: ${quoted(`${primary.host}@${primary.port}`)}`,
          `    key: ${quoted(`${name}.`)}`,
          'acl:',
          `  - id: ${quoted(name)}`,
          `    address: ${quoted(primary.host)}`,
          `    key: ${quoted(`${name}.`)}`,
          '    action: notify',
        ) +
        secondaryZone(primary, (zone) => [
          'zone:',
          `  - domain: ${quoted(zone)}`,
          `    master: ${quoted(name)}`,
          `    acl: ${quoted(name)}`,
        ])
      );
    },
    consumer: 'Knot DNS',
    extension: 'conf',
    algorithms: EVERY_ALGORITHM,
    writeAll: (keys) =>
      lines('key:') +
      keys.map(knotKey).join('') +
      comments(
        'To permit transfers and updates, add an access rule, and add the id of the rule to a zone:',
        'acl:',
        '  - id: "tsig"',
        `    key: [${keys.map(({ name }) => quoted(`${name}.`)).join(', ')}]`,
        '    action: [transfer, update]',
        'zone:',
        '  - domain: "example.org"',
        '    acl: "tsig"',
      ),
  },
  log,
  recipe: {
    group: 'knot',
    files: (zones, user) =>
      keyFileCommands(user, 'knot', FOLDER, zones, RIGHTS, knotRule, 'acl:\n'),
    configuration: '/etc/knot/knot.conf',
    lines: (zones) => `# Above the templates and zones:
include: "${FOLDER}/keys.conf"
# In server:
#   automatic-acl: off
${zoneComments(zones, (zone) => [
  `acl: [tsigil-transfer, tsigil-update, tsigil-transfer-${zone}, tsigil-update-${zone}]`,
])}`,
    local: () => ({ file: `${FOLDER}/keys.conf`, controlSocket: '/run/knot/knot.sock' }),
    restart: 'knot',
    addZone: addZoneToFile,
  },
} satisfies Brand;
