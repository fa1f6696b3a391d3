import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ZONES, type DrivenServer } from '../driven-server.ts';
import { SECRET } from '../samples.ts';
import { hasProgram, run } from '../tools.ts';
import { editFile, type Brand } from './brand.ts';

const rulesOf = (zones: readonly string[]) =>
  `acl:\n${['', ...zones.map((zone) => `-${zone}`)]
    .flatMap((suffix) =>
      ['transfer', 'update'].map(
        (right) =>
          `  - id: "tsigil-${right}${suffix}"\n    action: ${right}\n    address: 0.0.0.0/32\n    deny: on\n`,
      ),
    )
    .join('')}`;

/** Knot DNS with the zones of `ZONES`. */
export const knot: Brand = {
  name: 'Knot',
  driver: 'knot',
  isInstalled: () => hasProgram('knotd', 'knot'),
  foreign: 'hand-made.example',
  configure(folder, port, _controlPort, zones = ZONES) {
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), rulesOf(zones));
    writeFileSync(
      join(folder, 'knot.conf'),
      `server:
    rundir: "${folder}"
    listen: 127.0.0.1@${port}
    automatic-acl: off
database:
    storage: "${folder}"
key:
  - id: Hand-Made.example
    algorithm: hmac-sha256
    secret: ${SECRET}
include: "${folder}/keys/tsigil.conf"
zone:
${zones
  .map(
    (zone) => `  - domain: ${zone}
    storage: "${folder}"
    file: ${zone}.zone
    acl: [tsigil-transfer, tsigil-update, tsigil-transfer-${zone}, tsigil-update-${zone}]
`,
  )
  .join('')}`,
    );
  },
  controlSocket: 'knot.sock',
  command: (folder) => ['knotd', '-c', join(folder, 'knot.conf')],
  options: ({ folder }) => ({
    file: join(folder, 'keys', 'tsigil.conf'),
    configurationFile: join(folder, 'knot.conf'),
    controlSocket: join(folder, 'knot.sock'),
  }),
  edit: ({ folder }, removed, changed) =>
    editFile(join(folder, 'keys', 'tsigil.conf'), (text) =>
      text
        .replace(new RegExp(`^  - id: "${removed}."\n.*\n.*\n`, 'm'), '')
        .replace(new RegExp(`(id: "${changed}."\n.*\n    secret: ")[^"]*`), `$1${'A'.repeat(44)}`)
        .replaceAll(`"${removed}.", `, '')
        .replaceAll(`, "${removed}."`, ''),
    ),
  include: {
    file: 'keys/tsigil.conf',
    main: 'knot.conf',
    withoutInclude: (text) => text.replace(/^include: .*\n/m, rulesOf(ZONES)),
  },
};

/** Runs commands of knotc on a running server, each over a new connection. Returns their output. */
export function knotc(
  { folder }: Pick<DrivenServer, 'folder'>,
  ...commands: readonly string[]
): string {
  return commands
    .map((command) => run(folder, 'knotc', '-s', join(folder, 'knot.sock'), ...command.split(' ')))
    .join('');
}
