import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { rightsOf } from '../../src/brands/brand.ts';
import { BRANDS } from '../../src/brands/brands.ts';
import type { Key } from '../../src/dns/tsig-key.ts';
import { tsigil } from '../cli/run.ts';
import { createAgent } from '../harness/agent.ts';
import { editFile } from '../harness/brands/brand.ts';
import { call, powerdns } from '../harness/brands/powerdns.ts';
import { serve } from '../harness/connections.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  inZone,
  shownServer,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { zoneText } from '../harness/driven-server.ts';
import { HAND_KEYS, HAND_MADE, HAND_ZONES, handMadePowerdns } from '../harness/hand-made.ts';
import { permissionsOn, transferring } from '../harness/hand-made-requests.ts';
import { nightly } from '../harness/nightly.ts';
import { POOL_ID, SECRET } from '../harness/samples.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startTestService,
  temporaryFolder,
  type TestService,
} from '../harness/service.ts';
import { IS_LONG, sized } from '../harness/sizes.ts';
import { run as runProgram } from '../harness/tools.ts';

describe.each(HAND_MADE.filter((brand) => brand.isInstalled()))(
  '$name',
  { timeout: 300_000 },
  (brand) => {
    let server: DeliveryServer;
    let service: TestService;
    beforeEach(async () => {
      server = await startDeliveryServer(brand, 'ns1', HAND_ZONES);
      service = await startTestService(delivering(server));
      await createZones(service, HAND_ZONES);
    });
    afterEach(async () => {
      await service.close();
      await server.remove();
    });

    const run = (...argv: string[]) =>
      tsigil(
        temporaryFolder(),
        { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token, ...delivering(server) },
        ...argv,
      );

    async function importKeys(): Promise<void> {
      const file = join(server.folder, brand.main);
      const target = ['--pool', POOL_ID];
      const { status, out, err } = await run('tsigkey', 'import', file, ...target);
      expect(status, out + err).toBe(0);
      await expect
        .poll(() => shownServer(service), { timeout: 120_000 })
        .toMatchObject({ state: 'prepared' });
    }

    /** Returns the configuration of the operator. */
    function files(): Record<string, string> {
      const names = readdirSync(server.folder).filter((name) => name.endsWith('.conf'));
      return Object.fromEntries(
        names.map((name) => [name, readFileSync(join(server.folder, name), 'utf8')]),
      );
    }

    /** Returns the paths of the former files that adoptions and releases left. */
    function keptFiles(): string[] {
      const names = readdirSync(server.folder, { recursive: true }).map(String);
      const kept = names.filter((name) => name.includes('.before-tsigil'));
      return kept.map((name) => join(server.folder, name)).toSorted();
    }

    /** Runs the command that adopts, and sends it a signal at its first request after the edit. */
    async function stopped(signal: NodeJS.Signals) {
      const before = files();
      const started: ChildProcess[] = [];
      // A proxy that forwards requests, and stops the command at the first after the edit. A second signal would end it at once.
      const url = await serve((request, outgoing) => {
        if (!isDeepStrictEqual(files(), before)) started.pop()?.kill(signal);
        const headers = { 'x-auth-token': service.token };
        void fetch(service.url + String(request.url), { headers }).then(async (response) => {
          outgoing.writeHead(response.status).end(await response.text());
        });
      });
      const child = spawn(
        process.execPath,
        [PROGRAM, 'nameserver', 'adopt', 'ns1', '--write', '--yes'],
        {
          env: cleanEnvironment({
            TSIGIL_URL: url,
            TSIGIL_TOKEN: service.token,
            ...delivering(server),
          }),
          stdio: ['ignore', 'ignore', 'pipe'],
        },
      );
      started.push(child);
      const exited = once(child, 'exit') as Promise<[number | null]>;
      const [err, [status]] = await Promise.all([text(child.stderr), exited]);
      return { status, err, before };
    }

    test('adopt moves the keys without a failed transfer or another right, and release gives them back', async () => {
      const wanted = await permissionsOn(server);
      expect(wanted).toContain('transfer of a.test by k30');
      await importKeys();
      const before = files();
      const shown = await run('nameserver', 'adopt', 'ns1');
      expect([shown.status, shown.err]).toEqual([0, '']);
      expect(shown.out).toContain('30 keys would move');
      expect(shown.out).toMatch(/^-\s+secret:? "?\.\.\./m);
      expect(shown.out).toMatch(/^\+.*tsigil-transfer-b\.test/m);
      expect(shown.out).toMatch(/transfer of d\.test by 'k6': .* certain addresses/);
      for (const { secret } of HAND_KEYS) expect(shown.out).not.toContain(secret);
      expect(files()).toEqual(before);

      const clients = transferring(server);
      const adopted = await run('nameserver', 'adopt', 'ns1', '--write', '--yes');
      expect([adopted.status, adopted.err]).toEqual([0, '']);
      expect(adopted.out).toContain('No list for the right to transfer: d.test. ');
      const canUpdate = rightsOf(BRANDS[brand.driver]).includes('update');
      const hasPolicy = brand.name === 'BIND';
      const withoutUpdates = hasPolicy ? 'b.test, c.test' : 'b.test, c.test, d.test';
      expect(adopted.out.includes(`No list for the right to update: ${withoutUpdates}. `)).toBe(
        canUpdate,
      );
      const policy =
        /`update-policy` decides who may update: d\.test \(\S+zones\.conf:\d+\)\. .* name each successor/;
      expect(policy.test(adopted.out)).toBe(hasPolicy);
      expect(await shownServer(service)).toMatchObject({ state: 'live', keys_live: 30 });
      const check = await run('nameserver', 'check', 'ns1', '-f', 'json', '-c', 'problem');
      const noted = ['d.test', ...(canUpdate ? [withoutUpdates] : [])];
      expect([check.status, JSON.parse(check.out)]).toEqual([
        0,
        expect.arrayContaining([
          ...noted.map((zones) => ({ problem: `No key gets the right in: ${zones}.` })),
          ...(hasPolicy
            ? [{ problem: expect.stringMatching(/`update-policy`.* d\.test \(.*\)/) as string }]
            : []),
          { problem: expect.stringContaining(`.${brand.main}.before-tsigil'`) as string },
        ]),
      ]);
      const after = files();
      expect(Object.values(after).join('')).not.toContain('secret');
      const kept = keptFiles();
      expect(kept).toContain(join(server.folder, `.${brand.main}.before-tsigil`));
      expect(readFileSync(join(server.folder, `.${brand.main}.before-tsigil`), 'utf8')).toBe(
        before[brand.main],
      );
      expect(kept.map((path) => statSync(path).mode & 0o777)).toEqual(kept.map(() => 0o600));
      const [, named = ''] = adopted.out.split(
        'with their secrets. Once everything works, delete them:\n',
      );
      expect(named.trim().split(/\n +/).toSorted()).toEqual(kept);
      expect(await permissionsOn(server)).toEqual(wanted);
      const again = await run('nameserver', 'adopt', 'ns1', '--write', '--yes');
      expect([again.status, again.err]).toEqual([1, expect.stringContaining('already includes')]);

      const released = await run('nameserver', 'release', 'ns1', '--write', '--yes');
      expect([released.status, released.err]).toEqual([0, '']);
      expect(Object.values(files()).join('')).toContain('tsigil.conf.released"');
      expect(await permissionsOn(server)).toEqual(wanted);
      const all = keptFiles();
      expect(all.length).toBeGreaterThan(kept.length);
      const { out: problems } = await run('nameserver', 'check', 'ns1', '-f', 'json');
      for (const path of all) expect(problems).toContain(`'${path}'`);

      await run('nameserver', 'set', 'ns1', '--paused', 'false');
      await expect
        .poll(() => shownServer(service), { timeout: 120_000 })
        .toMatchObject({ state: 'prepared' });
      const back = await run('nameserver', 'adopt', 'ns1', '--write', '--yes');
      expect([back.status, back.err]).toEqual([0, '']);
      expect(files()).toEqual(after);
      expect(readFileSync(join(server.folder, `.${brand.main}.before-tsigil`), 'utf8')).toBe(
        before[brand.main],
      );
      expect(await permissionsOn(server)).toEqual(wanted);
      await clients.end();
      await untilLive(service);
    });

    test.runIf(IS_LONG && brand.driver === 'bind')(
      'adopt puts the files back if it is stopped before it has verified the keys',
      async () => {
        await importKeys();
        const { status, err, before } = await stopped('SIGTERM');
        expect([status, err]).toEqual([130, expect.stringContaining('are back, and loaded')]);
        expect(files()).toEqual(before);
        expect(existsSync(join(server.folder, `.${brand.main}.before-tsigil`))).toBe(false);
      },
    );

    nightly('a kill of the adoption loses no key, and the name server becomes live', async () => {
      const wanted = await permissionsOn(server);
      await importKeys();
      const clients = transferring(server);
      const { status } = await stopped('SIGKILL');
      expect(status).toBe(null);
      await untilLive(service);
      expect(await permissionsOn(server)).toEqual(wanted);
      await clients.end();
    });

    test.runIf(IS_LONG && brand.driver === 'bind')(
      'after a kill of the adoption between two files, adopt names the former file, and succeeds with it',
      async () => {
        const wanted = await permissionsOn(server);
        await importKeys();
        // The command writes the file that includes Tsigil's last.
        const main = join(server.folder, 'named.conf');
        const kept = join(server.folder, '.named.conf.before-tsigil');
        copyFileSync(main, kept);
        await editFile(main, (content) => content.replace('{ key k2; };', '{ none; };'));
        const refused = await run('nameserver', 'adopt', 'ns1', '--write', '--yes');
        expect([refused.status, refused.err]).toEqual([
          1,
          expect.stringContaining(`mv ${kept} ${main}`),
        ]);
        renameSync(kept, main);
        const adopted = await run('nameserver', 'adopt', 'ns1', '--write', '--yes');
        expect([adopted.status, adopted.err]).toEqual([0, '']);
        expect(await permissionsOn(server)).toEqual(wanted);
      },
    );

    test.runIf(IS_LONG && brand.driver === 'bind')(
      'adopt stops for a key with another secret or right in the service, and changes nothing',
      async () => {
        await importKeys();
        const before = files();
        expect((await run('tsigkey', 'set', 'k9', '--generate', '--yes')).status).toBe(0);
        expect(
          (await run('tsigkey', 'grants', 'k10', '--zone', 'b.test.', '--right', 'transfer'))
            .status,
        ).toBe(0);
        const { status, err } = await run('nameserver', 'adopt', 'ns1', '--write', '--yes');
        expect(status).toBe(1);
        expect(err).toMatch(
          /The key 'k9' has another secret or algorithm at .*zones.conf:33 than in the service/,
        );
        expect(err).toContain(
          "The key 'k10' has the right to transfer b.test in the service, but not on the name server",
        );
        expect(err).toContain(
          "The key 'k10' has the right to transfer a.test on the name server, but not in the service",
        );
        expect(files()).toEqual(before);
      },
    );

    nightly(
      'adopt names the keys that only the service has, what they would open, and the command that helps',
      async () => {
        await importKeys();
        const before = files();
        await createKey(service, 'later');
        await createKey(service, 'idle', { grants: [] });
        const run1 = await run('nameserver', 'adopt', 'ns1', '--write', '--yes');
        expect(run1.status).toBe(1);
        expect(run1.err).toMatch(
          /The key 'later' is only in the service, .* gain the right to transfer a\.test, b\.test, c\.test, d\.test/,
        );
        expect(run1.err).not.toMatch(/'idle'|--update/);
        const [, remedy = ''] = /run: tsigil (.* later .*)/.exec(run1.err) ?? [];
        const remedied = await run(...remedy.trim().split(' '), '--wait');
        expect(remedied.out + remedied.err).toContain('nothing');
        expect(files()).toEqual(before);
        await expect
          .poll(async () => (await run('nameserver', 'adopt', 'ns1')).status, { timeout: 120_000 })
          .toBe(0);
      },
    );

    test.runIf(IS_LONG && brand.driver === 'bind')(
      'adopt refuses zones that were added at run time, until they are in a file as its hint says',
      async () => {
        const { folder, controlPort } = server;
        const control = ['-k', join(folder, 'rndc.key'), '-s', '127.0.0.1'];
        const rndc = (...command: string[]) =>
          runProgram(folder, 'rndc', ...control, '-p', String(controlPort), ...command);
        const main = join(folder, brand.main);
        await editFile(main, (content) =>
          content.replace('options {', 'options {\n  allow-new-zones yes;'),
        );
        rndc('reconfig');
        writeFileSync(join(folder, 'added.test.zone'), zoneText('added.test'));
        const zone = `{ type primary; file "${folder}/added.test.zone"; allow-transfer { key "k1"; }; };`;
        rndc('addzone', 'added.test', zone);
        await createZones(service, ['added.test']);
        await importKeys();
        const before = files();
        const refused = await run('nameserver', 'adopt', 'ns1', '--write', '--yes');
        expect(refused.status).toBe(1);
        expect(refused.err).toContain('added at run time name keys: added.test');
        expect(refused.err).toMatch(/rndc showzone added\.test[^]*rndc delzone added\.test/);
        expect(files()).toEqual(before);

        const shown = rndc('showzone', 'added.test');
        await editFile(join(folder, 'zones.conf'), (content) => content + shown);
        rndc('delzone', 'added.test');
        rndc('reconfig');
        const grants = await run(
          'tsigkey',
          'grants',
          'k1',
          '--zone',
          'a.test.',
          '--zone',
          'added.test.',
          '--right',
          'transfer',
          '--wait',
        );
        expect(grants.out).toContain('added.test');
        await expect
          .poll(async () => (await run('nameserver', 'adopt', 'ns1', '--write', '--yes')).err, {
            timeout: 120_000,
          })
          .toBe('');
        const key = { id: 'k1', ...(HAND_KEYS[0] as Key) };
        expect(await verdictOf(server, key, { zone: 'added.test' })).toBe('good');
      },
    );

    test.runIf(IS_LONG && brand.driver === 'bind')(
      'adopt puts the files back if the server refuses them',
      async () => {
        await importKeys();
        const before = files();
        rmdirSync(join(server.folder, 'managed'));
        const clients = transferring(server);
        const { status, err } = await run('nameserver', 'adopt', 'ns1', '--write', '--yes');
        expect(status).toBe(1);
        expect(err).toContain("The former files of 'ns1' are back");
        expect(files()).toEqual(before);
        await clients.end();
        await expect
          .poll(() => shownServer(service), { timeout: 60_000 })
          .toMatchObject({ state: 'prepared' });
      },
    );
  },
);

test.each(
  sized([handMadePowerdns], [...HAND_MADE, handMadePowerdns]).filter((brand) =>
    brand.isInstalled(),
  ),
)(
  'adopt and release work on the host of an agent of $name, with its configuration',
  { timeout: 300_000 },
  async (brand) => {
    const server = await startDeliveryServer(brand, 'ns1', HAND_ZONES);
    const service = await startTestService();
    await createZones(service, HAND_ZONES);
    const agent = await createAgent(service, server);
    agent.start();
    onTestFinished(async () => {
      await agent.stop('SIGTERM');
      await service.close();
      await server.remove();
    });
    const keyFile = join(server.folder, 'api-key');
    const apiKey: Record<string, string> = existsSync(keyFile)
      ? { PDNS_API_KEY: readFileSync(keyFile, 'utf8') }
      : {};
    const run = (...argv: string[]) =>
      tsigil(
        temporaryFolder(),
        { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token, ...apiKey },
        ...argv,
      );
    const here = ['ns1', '--config', agent.config, '--write', '--yes'];
    const wanted = await permissionsOn(server);
    const target = ['--pool', POOL_ID];
    const source =
      brand.driver === 'powerdns'
        ? ['--from-powerdns', `http://127.0.0.1:${server.controlPort}`]
        : [join(server.folder, brand.main)];
    const imported = await run('tsigkey', 'import', ...source, ...target);
    expect(imported.status, imported.err).toBe(0);
    const clients = transferring(server);
    const adopted = await run('nameserver', 'adopt', ...here);
    expect([adopted.status, adopted.err]).toEqual([0, '']);
    expect(await shownServer(service)).toMatchObject({ state: 'live', keys_live: 30 });
    expect(await permissionsOn(server)).toEqual(wanted);
    const released = await run('nameserver', 'release', ...here);
    expect([released.status, released.err]).toEqual([0, '']);
    expect(await permissionsOn(server)).toEqual(wanted);
    await clients.end();
  },
);

test.runIf(IS_LONG && powerdns.isInstalled())(
  'adopt on PowerDNS reports a key that differs, and a key that is the same, where it is',
  { timeout: 300_000 },
  async () => {
    const server = await startDeliveryServer(powerdns);
    const service = await startTestService(delivering(server));
    onTestFinished(async () => {
      await service.close();
      await server.remove();
    });
    await call(server.folder, server.controlPort, 'PUT', '/zones/a.test.', {
      master_tsig_key_ids: [`${powerdns.foreign}.`],
    });
    await createZones(service);
    const { resource_id: zone } = (await inZone(service, 'a.test')) as { resource_id: string };
    const grants = [{ rights: ['transfer'], zones: [zone] }];
    const wrong = await createKey(service, powerdns.foreign, { grants });
    const variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
    const adopt = () =>
      tsigil(
        temporaryFolder(),
        { ...variables, ...delivering(server) },
        'nameserver',
        'adopt',
        'ns1',
      );
    const refused = await adopt();
    expect([refused.status, refused.err]).toEqual([
      1,
      expect.stringContaining(`The key '${powerdns.foreign}' has another secret or algorithm`),
    ]);
    expect((await service.delete(`/v2/tsigkeys/${wrong.id}`)).status).toBe(204);
    const right = await createKey(service, powerdns.foreign, { grants, secret: SECRET });
    const adopted = await adopt();
    expect([adopted.status, adopted.err, adopted.out]).toEqual([
      0,
      '',
      expect.stringContaining("Adopted: 1 key of 'ns1'"),
    ]);
    expect((await deliveries(service, right.id)).state).toBe('delivered');
    expect(await verdictOf(server, right)).toBe('good');
  },
);
