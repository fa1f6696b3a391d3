import type { Key } from '../key-formats/key.ts';
import { comments, EVERY_ALGORITHM, lines, quoted } from '../key-formats/writer.ts';
import { ADD_ZONE_TO_FILE, keyFileCommands, zoneComments, type Brand } from './brand.ts';

/** Returns a section with a key. */
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

export const nsd = {
  title: 'NSD',
  supports: {
    transfer: true,
    update: 'NSD does not support dynamic updates',
    unknownKeys: 'Only Tsigil writes to the file with its keys',
  },
  minimumIntervalMs: 0,
  exports: {
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
  recipe: {
    group: 'nsd',
    files: (zones) => keyFileCommands('nsd', FOLDER, zones, ['transfer'], nsdPattern),
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
    local: { file: `${FOLDER}/keys.conf`, controlSocket: '/run/nsd/nsd.sock' },
    restart: 'nsd',
    addZone: ADD_ZONE_TO_FILE,
  },
} satisfies Brand;
