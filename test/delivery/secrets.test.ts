import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../harness/agent.ts';
import { BRANDS, BRANDS_OF_STORE } from '../harness/brands/brands.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  inZone,
  shownServer,
  startDeliveryServer,
  untilLive,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { ZONES } from '../harness/driven-server.ts';
import type { SmallFileSystem } from '../harness/file-systems.ts';
import { sampleDescendants } from '../harness/process-watch.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { sized } from '../harness/sizes.ts';
import { fillDisk, fitsOnSmallDisk, onSmallDisk } from '../harness/small-disk.ts';

/** The forms in which a program may write a secret. */
const FORMS: readonly ((secret: string) => string | Buffer)[] = [
  (secret) => secret,
  (secret) => secret.replace(/=+$/, ''),
  (secret) => secret.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_'),
  encodeURIComponent,
  (secret) => Buffer.from(secret, 'base64').toString('hex'),
  (secret) => Buffer.from(secret, 'base64').toString('hex').toUpperCase(),
  (secret) => Buffer.from(secret, 'base64'),
];

/** Returns the secrets that a text contains in any form. */
function found(text: Buffer | string, secrets: readonly string[]): string[] {
  const bytes = Buffer.from(text);
  return secrets.filter((secret) => FORMS.some((write) => bytes.includes(write(secret))));
}

/** Returns the paths of all files below these folders. */
function filesIn(...folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
      .map((path) => realpathSync(path)),
  );
}

const optionsFile = (options: Record<string, unknown> | undefined) =>
  String(options?.controlKeyFile ?? options?.apiKeyFile);

/** Replaces the control key with a wrong key, until the returned function runs. */
function withWrongKey(server: DeliveryServer): () => void {
  const file = optionsFile(server.brand.options(server));
  copyFileSync(file, `${file}.right`);
  copyFileSync(optionsFile(server.brand.wrongKey?.(server)), file);
  return () => renameSync(`${file}.right`, file);
}

/** Renames the folder of the keys, until the returned function runs. */
function withoutFolder({ folder }: DeliveryServer): () => void {
  const keys = join(folder, 'keys');
  renameSync(keys, `${keys}.away`);
  return () => renameSync(`${keys}.away`, keys);
}

const SEARCHED = BRANDS_OF_STORE.slice(0, sized(1, BRANDS.length));

test.each(SEARCHED.filter((brand) => brand.isInstalled()))(
  "with $name, only the name server's files contain secrets: no output, process or other file does",
  async (brand) => {
    const [folder, temporary] = [temporaryFolder(), temporaryFolder()];
    for (const each of [folder, temporary])
      onTestFinished(() => rmSync(each, { recursive: true, force: true }));
    mkdirSync(join(folder, 'data'));
    const disks: SmallFileSystem[] = [];
    const small = onSmallDisk(brand, disks);
    const servers = [
      await startDeliveryServer(small, 'by-service'),
      await startDeliveryServer(small, 'by-agent'),
    ] as const;
    onTestFinished(async () => {
      for (const disk of disks) disk.remove();
      for (const server of servers) await server.remove();
    });
    const [served, remote] = servers;
    const processes = sampleDescendants();
    onTestFinished(async () => {
      await processes.stop();
    });
    const service = await startServiceProcess(folder, {
      TSIGIL_DATABASE_URL: 'sqlite:data/t.db',
      TMPDIR: temporary,
      ...delivering(served),
    });
    onTestFinished(async () => {
      await service.stop('SIGKILL');
    });
    await createZones(service);
    const agent = await createAgent(service, remote);
    onTestFinished(async () => {
      await agent.stop('SIGKILL');
    });
    const startAgent = () => agent.start(['env', `TMPDIR=${temporary}`]);
    startAgent();
    const names = servers.map(({ name }) => name);
    await untilLive(service, ...names);

    const keys: CreatedKey[] = [];
    const secrets: string[] = [];
    const created = async (name: string, members: object = {}) => {
      const key = await createKey(service, name, members);
      keys.push(key);
      secrets.push(key.secret);
      return key;
    };
    const delivered = async ({ id }: CreatedKey) =>
      expect.poll(async () => (await deliveries(service, id)).state).toBe('delivered');

    const [kept, removed] = [await created('kept'), await created('removed')];
    const zoned = await created('zoned', await inZone(service, ZONES[0]));
    for (const key of [kept, removed, zoned]) await delivered(key);
    const secret = randomBytes(32).toString('base64');
    secrets.push(secret);
    await service.patch(`/v2/tsigkeys/${kept.id}`, { secret });
    await delivered(kept);
    await service.delete(`/v2/tsigkeys/${removed.id}`);
    await untilLive(service, ...names);

    const faults = [
      ...(brand.wrongKey === undefined ? [] : [withWrongKey]),
      ...(brand.include === undefined ? [] : [withoutFolder]),
      ...(fitsOnSmallDisk(brand) ? [fillDisk] : []),
    ];
    for (const fault of faults) {
      const repairs = servers.map(fault);
      const during = await created(`during-${fault.name}`);
      for (const name of names)
        await expect.poll(() => shownServer(service, name)).toMatchObject({ state: 'failed' });
      for (const repair of repairs) repair();
      await delivered(during);
    }
    const last = await created('after-kill');
    await agent.stop('SIGKILL');
    startAgent();
    await delivered(last);
    await untilLive(service, ...names);

    const shown = [
      (await service.get('/metrics')).text,
      (await service.get('/v2/nameservers')).text,
      ...(await Promise.all(
        keys.map(async ({ id }) => (await service.get(`/v2/tsigkeys/${id}/deliveries`)).text),
      )),
    ];
    expect([await agent.stop('SIGTERM'), await service.stop('SIGTERM')]).toEqual([0, 0]);
    const samples = await processes.stop();
    expect(samples.filter((text) => text.includes('agent.yaml')).length).toBeGreaterThan(0);
    expect(samples.filter((text) => text.includes('TSIGIL_NAME_SERVERS')).length).toBeGreaterThan(
      0,
    );

    // The files of the name server contain the secrets of current keys only. This match shows
    // that the search finds secrets.
    const own = servers.map((server) =>
      brand.include === undefined
        ? join(server.folder, 'pdns.sqlite3')
        : realpathSync(join(server.folder, brand.include.file)),
    );
    const [former = '', deleted = '', ...present] = secrets;
    for (const file of own) expect(found(contentOf(file), present)).toEqual(present);
    if (brand.include !== undefined)
      for (const file of own) expect(found(contentOf(file), [former, deleted])).toEqual([]);

    const control = optionsFile(brand.options(served));
    const tokens = [readFileSync(agent.tokenFile, 'utf8').trim()];
    const hidden = [
      ...secrets,
      ...tokens,
      ...(brand.wrongKey === undefined ? [] : controlSecrets(servers.map(() => control))),
    ];
    const outputs = [service.output(), agent.output(), ...servers.map(({ output }) => output())];
    for (const text of [...outputs, ...shown, ...samples]) expect(found(text, hidden)).toEqual([]);

    const searched = filesIn(folder, temporary, ...servers.map((server) => server.folder));
    expect(searched.some((file) => file.endsWith('t.db'))).toBe(true);
    const leaks = searched
      .filter((file) => !own.some((each) => file.startsWith(each)))
      .flatMap((file) =>
        found(readFileSync(file), secrets).map((each) => `${relative(folder, file)}: ${each}`),
      );
    expect(leaks).toEqual([]);
  },
);

/** Returns the content of a file, followed by its WAL if the file is a database. */
function contentOf(file: string): Buffer {
  return Buffer.concat([file, `${file}-wal`].filter(existsSync).map((each) => readFileSync(each)));
}

/** Returns the secrets in these files, which contain control keys or API keys. */
function controlSecrets(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const text = readFileSync(file, 'utf8').trim();
    return /secret "([^"]*)"/.exec(text)?.[1] ?? text;
  });
}
