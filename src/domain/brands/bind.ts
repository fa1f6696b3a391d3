import type { Key } from '../key-formats/key.ts';
import { MARKER_START } from '../key-formats/read-bind.ts';
import { comments, EVERY_ALGORITHM, lines, quoted } from '../key-formats/writer.ts';
import { ADD_ZONE_TO_FILE, keyFileCommands, RIGHTS, zoneComments, type Brand } from './brand.ts';

/**
 * Returns a key clause with one statement on each line, because lego and CoreDNS can parse only
 * this layout.
 */
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

/** Returns the texts for all keys on one line. */
function forEachKey(names: readonly string[], text: (quotedName: string) => string): string {
  return names.map((name) => text(quoted(name))).join(' ');
}

const FOLDER = '/etc/bind/tsigil';

export const bind = {
  title: 'BIND',
  supports: {
    transfer: true,
    update: true,
    unknownKeys: 'Only Tsigil writes to the file with its keys',
  },
  minimumIntervalMs: 200, // a reload delays queries
  ownKeys: MARKER_START,
  exports: {
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
  recipe: {
    group: 'bind',
    files: (zones) => keyFileCommands('bind', FOLDER, zones, RIGHTS, bindList),
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
    local: { file: `${FOLDER}/keys.conf`, controlKeyFile: '/etc/bind/rndc.key' },
    restart: 'named',
    addZone: ADD_ZONE_TO_FILE,
  },
} satisfies Brand;
