import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nsdKey, nsdPattern } from '../../../src/brands/nsd/brand.ts';
import { ZONES } from '../driven-server.ts';
import { SECRET } from '../samples.ts';
import { hasProgram, run } from '../tools.ts';
import { editFile, editMain, execute, type Brand } from './brand.ts';

const patternsOf = (zones: readonly string[]) =>
  ['', ...zones.map((zone) => `-${zone}`)]
    .map((suffix) => `pattern:\n    name: "tsigil-transfer${suffix}"\n`)
    .join('');

/** NSD with the zones of `ZONES`. */
export const nsd: Brand = {
  name: 'NSD',
  driver: 'nsd',
  main: 'nsd.conf',
  isInstalled: () => hasProgram('nsd', 'nsd'),
  foreign: 'hand-made.example',
  configure(folder, port, _controlPort, zones = ZONES) {
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), patternsOf(zones));
    writeFileSync(
      join(folder, 'nsd.conf'),
      `server:
    ip-address: 127.0.0.1@${port}
    server-count: 1
    username: ""
    chroot: ""
    database: ""
    zonesdir: "${folder}"
    xfrdir: "${folder}"
    pidfile: "${folder}/nsd.pid"
    xfrdfile: "${folder}/xfrd.state"
    zonelistfile: "${folder}/zone.list"
    rrl-ratelimit: 0
    rrl-whitelist-ratelimit: 0
remote-control:
    control-enable: yes
    control-interface: "${folder}/nsd.sock"
key:
    name: "Hand-Made.example."
    algorithm: hmac-sha256
    secret: "${SECRET}"
include: "${folder}/keys/tsigil.conf"
${zones
  .map(
    (zone) => `zone:
    name: ${zone}
    zonefile: ${zone}.zone
    include-pattern: "tsigil-transfer"
    include-pattern: "tsigil-transfer-${zone}"
`,
  )
  .join('')}`,
    );
  },
  controlSocket: 'nsd.sock',
  command: (folder) => ['nsd', '-d', '-c', join(folder, 'nsd.conf')],
  options: ({ folder }) => ({
    file: join(folder, 'keys', 'tsigil.conf'),
    configurationFile: join(folder, 'nsd.conf'),
    controlSocket: join(folder, 'nsd.sock'),
  }),
  edit: ({ folder }, removed, changed) =>
    editFile(join(folder, 'keys', 'tsigil.conf'), (text) =>
      text
        .replace(new RegExp(`^key:\n    name: "${removed}"\n.*\n.*\n`, 'm'), '')
        .replace(new RegExp(`(name: "${changed}"\n.*\n    secret: ")[^"]*`), `$1${'A'.repeat(44)}`)
        .replaceAll(new RegExp(`    provide-xfr: \\S+ "${removed}"\n`, 'g'), ''),
    ),
  // It resets connections while it replaces its processes, and lost 2 of 538 control requests.
  dropsRequests: true,
  logUses: (text) => text.replace('server:\n', 'server:\n    verbosity: 1\n'),
  notifyAt: (text, port) =>
    text
      .replace(
        /^include:/m,
        `key:\n    name: "operators.example."\n    algorithm: hmac-sha256\n    secret: "${SECRET}"\n$&`,
      )
      .replaceAll(/^ {4}zonefile: .*\n/gm, `$&    notify: 127.0.0.1@${port} operators.example.\n`),
  notify: ({ folder }, zone) =>
    execute('nsd-control', ['-c', join(folder, 'nsd.conf'), 'notify', zone]),
  replaceByHand(folder, hand) {
    const keys = hand.keys.map(
      ({ name, algorithm, secret }) =>
        `key:\n    name: "${name}"\n    algorithm: ${algorithm}\n    secret: "${secret}"\n`,
    );
    const permitting = (name: string) =>
      `    provide-xfr: 0.0.0.0/0 ${name}\n    provide-xfr: ::0/0 ${name}\n`;
    const lists = [
      ['k1', 'k2', ...hand.many].map(permitting).join(''),
      `${permitting('k4')}    provide-xfr: 127.0.0.8 NOKEY\n`,
      '    include-pattern: "hand-made"\n',
      '    provide-xfr: 127.0.0.16/28 k6\n',
    ];
    const zones = hand.zones.map(
      (zone, index) =>
        `zone:\n    name: ${zone}\n    zonefile: ${zone}.zone\n${lists[index] ?? ''}`,
    );
    editMain(nsd, folder, (text) => {
      const [head = ''] = text.split(/^key:\n/m);
      return `${head}${keys.join('')}pattern:\n    name: "hand-made"\n${permitting('k2')}${zones.join('')}`;
    });
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), '');
  },
  include: {
    file: 'keys/tsigil.conf',
    withoutInclude: (text) => text.replace(/^include: .*\n/m, patternsOf(ZONES)),
    statement: (path) => `include: "${path}"\n`,
    checker: {
      program: 'nsd-checkconf',
      debian: 'nsd',
      parameters: (file) => [file],
    },
    reload: ({ folder }) => run(folder, 'nsd-control', '-c', join(folder, 'nsd.conf'), 'reconfig'),
    write: (keys, lists) =>
      keys.map(nsdKey).join('') +
      [...lists].map(([name, members]) => nsdPattern(name, members)).join(''),
    grant: (text, key) =>
      text.replace(/name: "tsigil-transfer"\n/, `$&    provide-xfr: 0.0.0.0/0 "${key}"\n`),
  },
};
