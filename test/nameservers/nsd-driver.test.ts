import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { startDrivenServer, ZONES } from '../harness/driven-server.ts';
import { run } from '../harness/name-servers.ts';
import { SECRET } from '../harness/samples.ts';
import { hasProgram } from '../harness/tools.ts';
import { describeDriver, newKey, type DriverCase } from './driver-contract.ts';
import { describeIncludeFile, editFile } from './include-file-contract.ts';

const PATTERNS = ['', ...ZONES.map((zone) => `-${zone}`)]
  .map((suffix) => `pattern:\n    name: "tsigil-transfer${suffix}"\n`)
  .join('');

const nsd: DriverCase = {
  name: 'NSD',
  driver: 'nsd',
  installed: hasProgram('nsd', 'nsd'),
  foreign: 'hand-made.example',
  configure(folder, port) {
    writeFileSync(join(folder, 'keys', 'tsigil.conf'), PATTERNS);
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
${ZONES.map(
  (zone) => `zone:
    name: ${zone}
    zonefile: ${zone}.zone
    include-pattern: "tsigil-transfer"
    include-pattern: "tsigil-transfer-${zone}"
`,
).join('')}`,
    );
  },
  controlSocket: 'nsd.sock',
  command: (folder) => ['nsd', '-d', '-c', join(folder, 'nsd.conf')],
  options: ({ folder }) => ({
    file: join(folder, 'keys', 'tsigil.conf'),
    controlSocket: join(folder, 'nsd.sock'),
  }),
  edit: ({ folder }, removed, changed) =>
    editFile(join(folder, 'keys', 'tsigil.conf'), (text) =>
      text
        .replace(new RegExp(`^key:\n    name: "${removed}"\n.*\n.*\n`, 'm'), '')
        .replace(new RegExp(`(name: "${changed}"\n.*\n    secret: ")[^"]*`), `$1${'A'.repeat(44)}`)
        .replaceAll(new RegExp(`    provide-xfr: \\S+ "${removed}"\n`, 'g'), ''),
    ),
};

describeDriver(nsd, (session) =>
  describeIncludeFile(session, nsd, {
    file: 'keys/tsigil.conf',
    main: 'nsd.conf',
    withoutInclude: (text) => text.replace(/^include: .*\n/m, PATTERNS),
  }),
);

/** Starts NSD with this statement for its control channel, and with certificates for it. */
async function startWithControl(interfaces: (folder: string, port: number) => string) {
  const server = await startDrivenServer({
    ...nsd,
    controlSocket: undefined,
    configure(folder, port, controlPort) {
      nsd.configure(folder, port, controlPort);
      for (const name of ['tls', 'other-tls']) {
        mkdirSync(join(folder, name));
        run(folder, 'nsd-control-setup', '-d', join(folder, name));
      }
      const file = join(folder, 'nsd.conf');
      const tls = join(folder, 'tls');
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace(
          /^ {4}control-interface: .*\n/m,
          `${interfaces(folder, controlPort)}    control-port: ${controlPort}
    server-key-file: "${tls}/nsd_server.key"
    server-cert-file: "${tls}/nsd_server.pem"
    control-key-file: "${tls}/nsd_control.key"
    control-cert-file: "${tls}/nsd_control.pem"
`,
        ),
      );
    },
  });
  onTestFinished(() => server.remove());
  return server;
}

test.runIf(nsd.installed && hasProgram('openssl', 'openssl'))(
  'NSD over TLS: the right certificate applies keys, and another one is not permitted',
  async () => {
    const { folder, controlPort } = await startWithControl(
      () => '    control-interface: 127.0.0.1\n',
    );
    const create = (client: string) =>
      DRIVERS.nsd?.create(
        {
          file: join(folder, 'keys', 'tsigil.conf'),
          controlHost: '127.0.0.1',
          controlPort,
          controlKeyFile: join(folder, client, 'nsd_control.key'),
          controlCertificateFile: join(folder, client, 'nsd_control.pem'),
          serverCertificateFile: join(folder, 'tls', 'nsd_server.pem'),
        },
        'id',
      );
    const soon = () => AbortSignal.timeout(10_000);
    const state = { zones: ZONES, keys: [newKey({ rights: ['transfer'] })] };
    const driver = create('tls');
    expect(await driver?.apply(state, new Set(), soon())).toEqual({ changed: true, problems: [] });
    expect((await driver?.check(soon()))?.filter(({ ok }) => !ok)).toEqual([]);
    await expect(create('other-tls')?.apply(state, new Set(), soon())).rejects.toMatchObject({
      code: 'not_permitted',
    });
  },
);

test.runIf(nsd.installed && hasProgram('openssl', 'openssl'))(
  'NSD with a control port without TLS: check reports that it shows all secrets',
  async () => {
    const server = await startWithControl(
      (folder) => `    control-interface: "${folder}/nsd.sock"\n    control-interface: 127.0.0.1\n`,
    );
    const { controlPort } = server;
    const driver = DRIVERS.nsd?.create({ ...nsd.options(server), controlPort }, 'id');
    const unmet = (await driver?.check(AbortSignal.timeout(10_000)))?.filter(({ ok }) => !ok);
    expect(unmet?.map(({ problem }) => problem)).toEqual([
      'Anyone who can connect to the port can read the secrets of all keys.',
    ]);
  },
);
