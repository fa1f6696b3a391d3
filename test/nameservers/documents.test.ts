import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { DatabaseSync } from '@photostructure/sqlite';
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { findOpenRights, verifyExpectations } from '../../src/nameservers/probe.ts';
import { blocksOf, readDocuments } from '../docs/documents.ts';
import {
  startDrivenServer,
  zoneText,
  type DrivenServer,
  type ServerRecipe,
} from '../harness/driven-server.ts';
import { run } from '../harness/name-servers.ts';
import { hasProgram } from '../harness/tools.ts';
import { newKey } from './driver-contract.ts';
import { moduleFolder, SCHEMA } from '../harness/brands/powerdns-server.ts';

/** The configurations on the pages, on a free port and in a temporary folder. */

const ZONE = 'example.org';

function blockTexts(name: string): readonly string[] {
  const page = readDocuments().find(({ path }) => path === `docs/nameservers/${name}.md`);
  if (page === undefined) throw new Error(`There is no page for ${name}`);
  return blocksOf(page)
    .filter(({ language }) => language === name)
    .map(({ content }) => content);
}

/** Replaces parts of a text. Throws if one is not there. */
function replaced(text: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`The page has no '${from}'`);
    return result.replaceAll(from, to);
  }, text);
}

interface PageCase extends ServerRecipe {
  readonly installed: boolean;
  /** The name of the page and of the driver, if it is not that of the case. */
  readonly page?: string;
  options(server: DrivenServer): object;
}

const isTransaction = ({ content }: { readonly content: string }) =>
  content.startsWith('knotc conf-begin');

const CASES: Readonly<Record<string, PageCase>> = {
  bind: {
    name: 'bind',
    installed: hasProgram('named', 'bind9'),
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
    command: (folder) => ['named', '-c', join(folder, 'named.conf'), '-n', '1', '-g'],
    options: ({ folder, controlPort }) => ({
      file: join(folder, 'keys/keys.conf'),
      controlPort,
      controlKeyFile: join(folder, 'rndc.key'),
    }),
  },
  knot: {
    name: 'knot',
    installed: hasProgram('knotd', 'knot'),
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
    controlSocket: 'knot.sock',
    command: (folder) => ['knotd', '-c', join(folder, 'knot.conf')],
    options: ({ folder }) => ({
      file: join(folder, 'keys/keys.conf'),
      controlSocket: join(folder, 'knot.sock'),
    }),
  },
  'knot-database': {
    page: 'knot',
    name: 'knot-database',
    installed: hasProgram('knotd', 'knot'),
    configure(folder, port) {
      writeFileSync(
        join(folder, 'knot.conf'),
        `server:
    rundir: "${folder}"
    listen: 127.0.0.1@${port}
database:
    storage: "${folder}"
zone:
  - domain: example.org
    storage: "${folder}"
    file: "%s.zone"
`,
      );
      const imported = ['conf-import', join(folder, 'knot.conf')];
      run(folder, 'knotc', '-C', join(folder, 'confdb'), ...imported);
    },
    controlSocket: 'knot.sock',
    command: (folder) => ['knotd', '-C', join(folder, 'confdb')],
    async ready(folder) {
      const page = readDocuments().find(({ path }) => path === 'docs/nameservers/knot.md');
      const block = page === undefined ? undefined : blocksOf(page).find(isTransaction);
      const commands = replaced(block?.content ?? '', {
        'knotc conf-': `knotc -s ${folder}/knot.sock conf-`,
      });
      run(folder, 'sh', '-e', '-c', commands);
    },
    options: ({ folder }) => ({ controlSocket: join(folder, 'knot.sock') }),
  },
  nsd: {
    name: 'nsd',
    installed: hasProgram('nsd', 'nsd'),
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
    controlSocket: 'nsd.sock',
    command: (folder) => ['nsd', '-d', '-c', join(folder, 'nsd.conf')],
    options: ({ folder }) => ({
      file: join(folder, 'keys/keys.conf'),
      controlSocket: join(folder, 'nsd.sock'),
    }),
  },
  powerdns: {
    name: 'powerdns',
    installed:
      hasProgram('pdns_server', 'pdns-server') && hasProgram('pdnsutil', 'pdns-backend-sqlite3'),
    configure(folder, port, controlPort) {
      const [main = ''] = blockTexts('powerdns');
      const apiKey = randomBytes(32).toString('hex');
      writeFileSync(join(folder, 'api-key'), `${apiKey}\n`);
      mkdirSync(join(folder, 'run'));
      const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
      database.exec(readFileSync(SCHEMA, 'utf8'));
      database.close();
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
      run(folder, 'pdnsutil', `--config-dir=${folder}`, 'load-zone', ZONE, zoneFile);
    },
    command: (folder) => ['pdns_server', `--config-dir=${folder}`],
    options: ({ folder, controlPort }) => ({
      url: `http://127.0.0.1:${controlPort}`,
      apiKeyFile: join(folder, 'api-key'),
    }),
  },
};

describe('docs/nameservers', () => {
  for (const [name, recipe] of Object.entries(CASES)) {
    test.runIf(recipe.installed)(
      `${name}: a server with the configuration on the page accepts a key, and nothing unsigned`,
      async () => {
        const server = await startDrivenServer({
          ...recipe,
          configure(folder, port, controlPort) {
            writeFileSync(join(folder, `${ZONE}.zone`), zoneText(ZONE));
            recipe.configure(folder, port, controlPort);
          },
        });
        onTestFinished(() => server.remove());
        const definition = DRIVERS[recipe.page ?? name];
        const rights = definition?.rights ?? [];
        const driver = definition?.create(recipe.options(server), 'id');
        const signal = AbortSignal.timeout(20_000);
        const keys = [newKey({ rights }), newKey({ rights, zones: [ZONE] })];
        await driver?.apply({ zones: [ZONE], keys }, new Set(), signal);
        const expectations = keys.flatMap((key) =>
          rights.map((right) => ({ key, right, zone: ZONE, accepted: true })),
        );
        const outcomes = await verifyExpectations(server.address, expectations, Date.now, signal);
        expect(outcomes.map(({ result }) => result.verdict)).toEqual(
          expectations.map(() => 'good'),
        );
        expect(await findOpenRights({ server: server.address, zone: ZONE })).toEqual([]);
        expect((await driver?.check(signal))?.filter(({ ok }) => !ok)).toEqual([]);
      },
    );

    if (recipe.page !== undefined) continue;
    test(`${name}.md lists the options of the driver, with their defaults`, () => {
      const page = readDocuments().find(({ path }) => path === `docs/nameservers/${name}.md`);
      const { properties = {} } = DRIVERS[name]?.options.schema ?? {};
      for (const [option, schema] of Object.entries(properties)) {
        const row = page?.text
          .split('\n')
          .find((line) => line.includes(`\`${option}\``) && line.startsWith('|'));
        expect(row, option).toBeDefined();
        if (schema.default !== undefined)
          expect(row).toContain(JSON.stringify(schema.default).replaceAll('"', ''));
      }
    });
  }
});
