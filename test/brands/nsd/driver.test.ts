import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DRIVERS } from '../../../src/brands/drivers.ts';
import { startDrivenServer, ZONES } from '../../harness/driven-server.ts';
import { hasProgram, run } from '../../harness/tools.ts';
import { describeDriver, newKey } from '../driver-contract.ts';
import { describeIncludeFile } from '../include-file-contract.ts';
import { nsd } from '../../harness/brands/nsd.ts';

describeDriver(nsd, (session) => {
  describeIncludeFile(session, nsd);

  test.each([
    'algorithm: hmac-sha256\n  secret: QUJD QUOTED',
    "algorithm: hmac-sha256\n  it's-QUOTED",
    'algorithm: QUOTED\n  secret: QUJD',
  ])('a refusal contains the line, but no text of the file: %j', async (rest) => {
    const { server, apply } = session();
    const main = join(server.folder, 'nsd.conf');
    const text = readFileSync(main, 'utf8');
    writeFileSync(main, `${text}\nkey:\n  name: other\n  ${rest}\n`);
    onTestFinished(async () => {
      writeFileSync(main, text);
      await apply(newKey({ rights: ['transfer'] }));
    });
    const refused = await apply(newKey({ rights: ['transfer'] })).catch((error: unknown) => error);
    const message = refused instanceof Error ? refused.message : '';
    expect(message).toMatch(/^NSD refused the new configuration: .*nsd\.conf:\d+: error: /);
    expect(message).not.toContain('QUOTED');
  });
});

/** Starts NSD with TLS certificates and the statements of `interfaces` for the control channel. */
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

test.runIf(nsd.isInstalled() && hasProgram('openssl', 'openssl'))(
  'NSD over TLS: the driver applies keys with the right certificate, and fails with another certificate',
  async () => {
    const { folder, controlPort } = await startWithControl(
      () => '    control-interface: 127.0.0.1\n',
    );
    const create = (client: string) =>
      DRIVERS.nsd?.create(
        {
          file: join(folder, 'keys', 'tsigil.conf'),
          configurationFile: join(folder, 'nsd.conf'),
          controlHost: '127.0.0.1',
          controlPort,
          controlKeyFile: join(folder, client, 'nsd_control.key'),
          controlCertificateFile: join(folder, client, 'nsd_control.pem'),
          serverCertificateFile: join(folder, 'tls', 'nsd_server.pem'),
        },
        'id',
      );
    const soon = () => AbortSignal.timeout(60_000);
    const state = { zones: ZONES, keys: [newKey({ rights: ['transfer'] })] };
    const driver = create('tls');
    expect(await driver?.apply(state, new Set(), soon())).toEqual({ changed: true, problems: [] });
    expect((await driver?.check(soon()))?.filter(({ ok }) => !ok)).toEqual([]);
    await expect(create('other-tls')?.apply(state, new Set(), soon())).rejects.toMatchObject({
      code: 'not_permitted',
    });
  },
);

test.runIf(nsd.isInstalled() && hasProgram('openssl', 'openssl'))(
  'NSD with a control port without TLS: check reports that everyone can read the secrets',
  async () => {
    const server = await startWithControl(
      (folder) => `    control-interface: "${folder}/nsd.sock"\n    control-interface: 127.0.0.1\n`,
    );
    const { controlPort } = server;
    const driver = DRIVERS.nsd?.create({ ...nsd.options(server), controlPort }, 'id');
    const unmet = (await driver?.check(AbortSignal.timeout(60_000)))?.filter(({ ok }) => !ok);
    expect(unmet?.map(({ problem }) => problem)).toEqual([
      'Anyone who can connect to the port can read the secrets of all keys.',
    ]);
  },
);

test.runIf(nsd.isInstalled())(
  'NSD has a key without algorithm, and another configuration than the option: the advice is the option',
  async () => {
    const key = newKey({ rights: ['transfer'] });
    const server = await startDrivenServer({
      ...nsd,
      configure(folder, port, controlPort, zones) {
        nsd.configure(folder, port, controlPort, zones);
        const entry = `key:\n    name: "${key.name}"\n    secret: "${key.secret}"\n`;
        appendFileSync(join(folder, 'nsd.conf'), entry);
      },
    });
    onTestFinished(() => server.remove());
    const configurationFile = join(server.folder, 'elsewhere.conf');
    const driver = DRIVERS.nsd?.create({ ...nsd.options(server), configurationFile }, 'id');
    const applied = await driver?.apply(
      { zones: ZONES, keys: [key] },
      new Set(),
      AbortSignal.timeout(60_000),
    );
    expect(applied?.problems).toEqual([
      {
        id: key.id,
        code: 'name_taken',
        message: expect.stringContaining('Set the option `configurationFile`') as unknown,
      },
    ]);
  },
);
