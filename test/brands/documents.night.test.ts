import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { DatabaseSync } from '@photostructure/sqlite';
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BRAND_NAMES, type BrandName } from '../../src/brands/brands.ts';
import { DRIVERS } from '../../src/brands/drivers.ts';
import { parse } from 'yaml';
import { blocksOf, readDocuments } from '../docs/documents.ts';
import { startDrivenServer, type DrivenServer } from '../harness/driven-server.ts';
import { cleanEnvironment, PROGRAM, startServiceProcess } from '../harness/service.ts';
import { hasProgram, run, TOOL_ENVIRONMENT } from '../harness/tools.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import { moduleFolder, SCHEMA } from '../harness/brands/powerdns-server.ts';

/**
 * Tests the configurations on the pages of docs/nameservers, with a free port and a temporary
 * folder.
 */

const ZONE = 'example.org';
const NAMES = BRAND_NAMES.join('|');

function blockTexts(name: string): readonly string[] {
  const page = readDocuments().find(({ path }) => path === `docs/nameservers/${name}.md`);
  if (page === undefined) throw new Error(`There is no page for ${name}`);
  return blocksOf(page)
    .filter(({ language }) => language === name)
    .map(({ content }) => content);
}

/** Replaces parts of a text. Throws if the text does not contain a part. */
function replaced(text: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`The page has no '${from}'`);
    return result.replaceAll(from, to);
  }, text);
}

/**
 * Returns the blocks of commands that a page lists before or after the start of the server.
 * Includes indented blocks.
 */
function commandsOf(name: string, phase: 'before the start' | 'after the start'): string[] {
  const page = readDocuments().find(({ path }) => path === `docs/nameservers/${name}.md`);
  const sections = (page?.text ?? '').split('\n## ');
  return sections
    .filter(
      (section) => section.startsWith('Prepare the server\n') === (phase === 'before the start'),
    )
    .flatMap((section) => [...section.matchAll(/^( *)```sh\n(.*?)^\1```$/gms)])
    .map(([, indent, content = '']) => content.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
}

/**
 * Programs that would change this machine. Each is replaced by a script that runs only the command
 * after `--`.
 */
const STUBS = ['apt-get', 'chown', 'runuser', 'systemctl', 'usermod'];

/**
 * Runs a block of commands below `folder`, as the user of this process. Returns the exit code and
 * the output.
 */
function runBlock(
  block: string,
  folder: string,
  variables: Record<string, string> = {},
): { readonly status: number | null; readonly output: string } {
  const programs = join(folder, 'programs');
  mkdirSync(programs, { recursive: true });
  const write = (name: string, text: string) =>
    writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  for (const name of STUBS)
    write(
      name,
      'while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done\n[ $# -eq 0 ] || { shift; exec "$@"; }',
    );
  write('tsigil', `exec '${process.execPath}' '${PROGRAM}' "$@"`);
  write('pdnsutil', `PATH=\${PATH#*:} exec pdnsutil --config-dir='${folder}' "$@"`);
  const script = block
    .replaceAll(new RegExp(`/etc/(?:${NAMES})/tsigil`, 'g'), `${folder}/keys`)
    .replaceAll(new RegExp(`/var/lib/(?:${NAMES})`, 'g'), folder)
    .replaceAll('/etc/', `${folder}/etc/`)
    .replaceAll(new RegExp(` -[og] (?:tsigil|pdns|${NAMES})`, 'g'), '');
  const { status, stdout, stderr } = spawnSync('sh', ['-e', '-c', script], {
    cwd: folder,
    env: cleanEnvironment({ ...variables, PATH: `${programs}:${TOOL_ENVIRONMENT.PATH}` }),
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

interface PageCase {
  readonly configure: (folder: string, port: number, controlPort: number) => void;
  readonly options: (server: DrivenServer) => object;
}

const CASES: Readonly<Record<BrandName, PageCase>> = {
  bind: {
    configure(folder, port, controlPort) {
      const [file = '', main = ''] = blockTexts('bind');
      const secret = randomBytes(32).toString('base64');
      writeFileSync(
        join(folder, 'rndc.key'),
        `key "rndc-key" { algorithm hmac-sha256; secret "${secret}"; };\n`,
      );
      writeFileSync(join(folder, 'keys/keys.conf'), file);
      writeFileSync(
        join(folder, 'named.conf'),
        replaced(main, {
          '/etc/bind/rndc.key': `${folder}/rndc.key`,
          '/etc/bind/tsigil/keys.conf': `${folder}/keys/keys.conf`,
          'port 953': `port ${controlPort}`,
          'directory "/var/cache/bind";': `directory "${folder}"; pid-file none; lock-file none; session-keyfile "${folder}/session.key"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };`,
          '/var/lib/bind': folder,
        }),
      );
    },
    options: ({ folder, controlPort }) => ({
      file: join(folder, 'keys/keys.conf'),
      controlPort,
      controlKeyFile: join(folder, 'rndc.key'),
    }),
  },
  knot: {
    configure(folder, port) {
      const [file = '', main = ''] = blockTexts('knot');
      writeFileSync(join(folder, 'keys/keys.conf'), file);
      writeFileSync(
        join(folder, 'knot.conf'),
        replaced(main, {
          '/run/knot': folder,
          '0.0.0.0@53': `127.0.0.1@${port}`,
          '/var/lib/knot': folder,
          '/etc/knot/tsigil/keys.conf': `${folder}/keys/keys.conf`,
        }),
      );
    },
    options: ({ folder }) => ({
      file: join(folder, 'keys/keys.conf'),
      controlSocket: join(folder, 'knot.sock'),
    }),
  },
  nsd: {
    configure(folder, port) {
      const [file = '', main = ''] = blockTexts('nsd');
      writeFileSync(join(folder, 'keys/keys.conf'), file);
      writeFileSync(
        join(folder, 'nsd.conf'),
        replaced(main, {
          'zonesdir: "/var/lib/nsd"': `zonesdir: "${folder}"
    ip-address: 127.0.0.1@${port}
    username: ""
    chroot: ""
    database: ""
    xfrdir: "${folder}"
    pidfile: "${folder}/nsd.pid"
    xfrdfile: "${folder}/xfrd.state"
    zonelistfile: "${folder}/zone.list"`,
          '/run/nsd/nsd.sock': `${folder}/nsd.sock`,
          '/etc/nsd/tsigil/keys.conf': `${folder}/keys/keys.conf`,
        }),
      );
    },
    options: ({ folder }) => ({
      file: join(folder, 'keys/keys.conf'),
      controlSocket: join(folder, 'nsd.sock'),
    }),
  },
  powerdns: {
    configure(folder, port, controlPort) {
      const [main = ''] = blockTexts('powerdns');
      const apiKey = randomBytes(32).toString('hex');
      writeFileSync(join(folder, 'api-key'), `${apiKey}\n`);
      mkdirSync(join(folder, 'run'));
      const file = join(folder, 'pdns.sqlite3');
      const isCreated = existsSync(file);
      if (!isCreated) {
        const database = new DatabaseSync(file);
        database.exec(readFileSync(SCHEMA, 'utf8'));
        database.close();
      }
      writeFileSync(
        join(folder, 'pdns.conf'),
        `${replaced(main, {
          '/var/lib/powerdns': folder,
          'API-KEY': apiKey,
          'webserver-port=8081': `webserver-port=${controlPort}`,
        })}module-dir=${moduleFolder()}
socket-dir=${folder}/run
local-address=127.0.0.1
local-port=${port}
daemon=no
guardian=no
`,
      );
      const zoneFile = join(folder, `${ZONE}.zone`);
      if (!isCreated)
        run(folder, 'pdnsutil', `--config-dir=${folder}`, 'load-zone', ZONE, zoneFile);
    },
    options: ({ folder, controlPort }) => ({
      url: `http://127.0.0.1:${controlPort}`,
      apiKeyFile: join(folder, 'api-key'),
    }),
  },
};

/** Starts a service, and runs the commands that a page lists after the start of the server. */
async function followPage(page: string, server: DrivenServer, local: object): Promise<void> {
  const { folder, address } = server;
  const yaml = blocksOf({ path: page, text: readPage(page) }).find(
    ({ language }) => language === 'yaml',
  );
  const { nameServers } = parse(yaml?.content ?? '') as {
    readonly nameServers: readonly { readonly local: object }[];
  };
  const [entry] = nameServers;
  const { properties = {} } = DRIVERS[page]?.options.schema ?? {};
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(entry?.local ?? {})));
  const configured = { ...entry, address: `127.0.0.1:${address.port}`, local };
  const service = await startServiceProcess(folder, {
    TSIGIL_NAME_SERVERS: JSON.stringify([configured]),
  });
  onTestFinished(async () => {
    await service.stop('SIGTERM');
  });
  const variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
  const runAt = (block: string) =>
    runBlock(block.replace('@192.0.2.53', `@127.0.0.1 -p ${address.port}`), folder, variables);
  const [steps, queries] = [[] as string[], [] as string[]];
  for (const block of commandsOf(page, 'after the start')) {
    if (block.startsWith('dig ')) {
      const { output } = runAt(block);
      if (block.includes(' -k ')) expect(output).toMatch(/XFR size: \d+ records/);
      else expect(output).toContain('Transfer failed.');
      queries.push(block);
    } else {
      expect({ block, ...runAt(block) }).toMatchObject({ status: 0 });
      steps.push(block);
    }
  }
  expect(steps.join('')).toMatch(/nameserver check[^]*tsigkey create[^]*tsigkey delete/);
  expect(queries).toHaveLength(2);
  // The last command has deleted the key.
  await expect.poll(() => runAt(queries[0] ?? '').output).toContain('Transfer failed.');
}

function readPage(name: string): string {
  const page = readDocuments().find(({ path }) => path === `docs/nameservers/${name}.md`);
  return page?.text ?? '';
}

describe('docs/nameservers', () => {
  for (const brand of BRANDS) {
    const name = brand.driver;
    const { configure, options } = CASES[name];
    test.runIf(brand.isInstalled() && hasProgram('dig', 'bind9-dnsutils'))(
      `${name}.md: all commands work, from an empty folder to a transfer and the deletion of the key`,
      async () => {
        const server = await startDrivenServer({
          ...brand,
          ready: () => Promise.resolve(),
          configure(folder, port, controlPort) {
            for (const path of ['systemd/system', 'tsigil', 'powerdns/pdns.d'])
              mkdirSync(join(folder, 'etc', path), { recursive: true });
            const blocks = commandsOf(name, 'before the start');
            const [create, ...others] = blocks.filter((block) => !block.includes('pdnsutil'));
            expect(blocks.length).toBeGreaterThan(2);
            expect(runBlock(create ?? '', folder)).toMatchObject({ status: 0 });
            configure(folder, port, controlPort);
            for (const block of [...others, ...blocks.filter((each) => each.includes('pdnsutil'))])
              expect({ block, ...runBlock(block, folder) }).toMatchObject({ status: 0 });
          },
        });
        onTestFinished(() => server.remove());
        await followPage(name, server, options(server));
        // A database has the secrets of all keys.
        const databases = readdirSync(server.folder).filter((file) => file.includes('.sqlite3'));
        for (const file of databases)
          expect(statSync(join(server.folder, file)).mode & 0o077).toBe(0);
      },
    );
  }
});
