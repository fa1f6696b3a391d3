import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ZONES } from '../driven-server.ts';
import { SECRET } from '../samples.ts';
import { hasProgram } from '../tools.ts';
import { editFile, type Brand } from './brand.ts';

const patternsOf = (zones: readonly string[]) =>
  ['', ...zones.map((zone) => `-${zone}`)]
    .map((suffix) => `pattern:\n    name: "tsigil-transfer${suffix}"\n`)
    .join('');

/** NSD with the zones of `ZONES`. */
export const nsd: Brand = {
  name: 'NSD',
  driver: 'nsd',
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
  include: {
    file: 'keys/tsigil.conf',
    main: 'nsd.conf',
    withoutInclude: (text) => text.replace(/^include: .*\n/m, patternsOf(ZONES)),
  },
};
