import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { knotKey, knotRule } from '../../../src/brands/knot/brand.ts';
import { ZONES, type DrivenServer } from '../driven-server.ts';
import { SECRET } from '../samples.ts';
import { hasProgram, run } from '../tools.ts';
import { editFile, editMain, execute, type Brand } from './brand.ts';

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
  main: 'knot.conf',
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
  logUses: (text) => `log:\n  - target: stderr\n    any: debug\n${text}`,
  notifyAt: (text, port) =>
    text
      .replace(
        /^include:/m,
        `  - id: operators.example\n    algorithm: hmac-sha256\n    secret: ${SECRET}\nremote:\n  - id: secondary\n    address: 127.0.0.1@${port}\n    key: operators.example\n$&`,
      )
      .replaceAll(/^ {4}acl: /gm, '    notify: secondary\n$&'),
  notify: ({ folder }, zone) =>
    execute('knotc', ['-s', join(folder, 'knot.sock'), 'zone-notify', zone]),
  replaceByHand(folder, hand) {
    const keys = hand.keys.map(
      ({ name, algorithm, secret }) =>
        `  - id: ${name}\n    algorithm: ${algorithm}\n    secret: ${secret}\n`,
    );
    const rules = [
      `  - id: many\n    key: [k1, k2, ${hand.many.join(', ')}]\n    action: transfer\n`,
      '  - id: changes\n    key: k3\n    action: update\n',
      '  - id: one\n    key: k4\n    action: transfer\n',
      '  - id: local\n    address: 127.0.0.8\n    action: transfer\n',
      '  - id: two\n    key: k2\n    action: transfer\n',
      '  - id: near\n    key: k6\n    address: 127.0.0.16/28\n    action: transfer\n',
    ];
    const lists = ['[many, changes]', '[one, local]', 'two', 'near'];
    const zones = hand.zones.map(
      (zone, index) =>
        `  - domain: ${zone}\n    storage: "${folder}"\n    file: ${zone}.zone\n    acl: ${lists[index] ?? ''}\n`,
    );
    editMain(knot, folder, (text) => {
      const [head = ''] = text.split(/^key:\n/m);
      return `${head}key:\n${keys.join('')}acl:\n${rules.join('')}zone:\n${zones.join('')}`;
    });
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), '');
  },
  include: {
    file: 'keys/tsigil.conf',
    withoutInclude: (text) => text.replace(/^include: .*\n/m, rulesOf(ZONES)),
    statement: (path) => `include: "${path}"\n`,
    checker: {
      program: 'knotc',
      debian: 'knot',
      parameters: (file) => ['-c', file, 'conf-check'],
    },
    reload: (server) => knotc(server, 'reload'),
    write: (keys, lists) =>
      `key:\n${keys.map(knotKey).join('')}acl:\n${[...lists].map(([name, members]) => knotRule(name, members)).join('')}`,
    grant: (text, key) =>
      text.replaceAll(
        /(id: "tsigil-(?:transfer|update)"\n.*\n)    address: .*\n    deny: on\n/g,
        `$1    key: ${key}\n`,
      ),
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
