import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readAgentFile } from '../src/config/agent-file.ts';
import { readConfig } from '../src/config/config.ts';
import { FAULTS } from '../src/delivery/faults.ts';
import {
  blocksOf,
  examplesOf,
  proseOf,
  readDocuments,
  ROOT,
  type Document,
} from './docs/documents.ts';
import { normalise, runCommands } from './docs/shell.ts';
import { freePort } from './harness/connections.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from './harness/service.ts';
import { IS_LONG } from './harness/sizes.ts';
import { hasProgram } from './harness/tools.ts';

const DOCUMENTS = readDocuments();
/** The programs that examples start, with their Debian packages. */
const NAME_SERVER_PROGRAMS: Readonly<Record<string, string>> = {
  dig: 'bind9-dnsutils',
  knotd: 'knot',
  named: 'bind9',
  'named-checkconf': 'bind9-utils',
};
const folder = temporaryFolder();

function documentAt(path: string): Document {
  const found = DOCUMENTS.find((document) => document.path === path);
  if (found === undefined) throw new Error(`There is no ${path}`);
  return found;
}

/**
 * Starts a service without `adminToken`. Returns a client with the first token. The service stops
 * at the end of the test.
 */
async function startFirstService(): Promise<ServiceProcess & { readonly folder: string }> {
  const home = temporaryFolder();
  const service = await startServiceProcess(home, { TSIGIL_ADMIN_TOKEN: '' });
  onTestFinished(async () => {
    if (service.process.exitCode === null) await service.stop('SIGTERM');
  });
  const token = readFileSync(join(home, 'var/admin.token'), 'utf8').trim();
  return { ...service, ...service.with(token), folder: home };
}

describe('examples in documents', () => {
  const curl = hasProgram('curl', 'curl');

  for (const document of DOCUMENTS.filter((each) => examplesOf(each).length > 0)) {
    const needed = Object.keys(NAME_SERVER_PROGRAMS).filter((program) =>
      examplesOf(document).some(({ command }) => command.startsWith(`${program} `)),
    );
    const installed = needed.every((program) =>
      hasProgram(program, NAME_SERVER_PROGRAMS[program] ?? ''),
    );
    const isExecuted = IS_LONG || document.path === 'README.md';
    test.runIf(curl && installed && isExecuted)(
      `${document.path}: every command prints the output on the page`,
      async () => {
        const examples = examplesOf(document);
        const commands = examples.map(({ command }) => command);
        const ports = [await freePort(), await freePort()];
        const startsService = commands.some((command) => command.startsWith('tsigil serve '));
        const service = startsService
          ? { folder: temporaryFolder(), url: `http://127.0.0.1:${await freePort()}` }
          : await startFirstService();
        const outputs = runCommands(commands, service.folder, service.url, ports);
        const printed = outputs.map(
          (output, index) => `$ ${commands[index]}\n${normalise(output)}`,
        );
        expect(printed).toEqual(
          examples.map(({ command, expected }) => `$ ${command}\n${normalise(expected)}`),
        );
      },
    );
  }

  test('README.md: the first start of the service prints the output on the page', async () => {
    const service = await startFirstService();
    const shown =
      blocksOf(documentAt('README.md')).find(({ content }) => content.startsWith('Tsigil listens'))
        ?.content ?? '';
    const printed = () =>
      service
        .output()
        .replaceAll(service.folder, '/home/ada/tsigil')
        .replaceAll(new URL(service.url).host, '127.0.0.1:9001');
    expect(shown).toContain('Create a key: ');
    await expect.poll(printed).toContain(shown.trimEnd());
  });

  test.runIf(curl)(
    'docs/backups.md: the commands to restore a backup restore the content of the backup',
    async () => {
      const service = await startFirstService();
      await service.post('/v2/tlds', { name: 'kept' });
      runCommands(['tsigil backup --to var/before-upgrade.db'], service.folder, service.url);
      await service.post('/v2/tlds', { name: 'later' });
      await service.stop('SIGKILL');
      const restore =
        blocksOf(documentAt('docs/backups.md')).find(({ content }) =>
          content.startsWith('tsigil restore '),
        )?.content ?? 'exit 1';
      expect(runCommands([restore], service.folder, service.url)).toEqual([
        expect.stringContaining(`Restored 'var/before-upgrade.db' to '`),
      ]);
      const again = await startServiceProcess(service.folder, { TSIGIL_ADMIN_TOKEN: '' });
      onTestFinished(async () => {
        await again.stop('SIGTERM');
      });
      const { body } = await again.with(service.token).get('/v2/tlds');
      expect((body as { tlds: { name: string }[] }).tlds.map(({ name }) => name)).toEqual(['kept']);
    },
  );

  test.runIf(curl && hasProgram('named', 'bind9') && hasProgram('knotd', 'knot'))(
    'docs/signed-transfers.md: after the steps to rotate a key, only the new key works',
    async () => {
      const service = await startFirstService();
      const page = documentAt('docs/signed-transfers.md');
      const set = examplesOf(page).map(({ command }) => command);
      const steps = [...page.text.matchAll(/^ {3}```sh\n(.*?)^ {3}```$/gms)].map(([, step = '']) =>
        step.replaceAll(/^ {3}/gm, ''),
      );
      expect(steps).toHaveLength(7);
      const ports = [await freePort(), await freePort()];
      const all = [...set, ...steps, 'tsigil tsigkey list -f value -c name'];
      const outputs = runCommands(all, service.folder, service.url, ports).slice(set.length);
      expect(outputs[2]).toContain('the server sent the zone');
      expect(outputs[3]).toMatch(/^Reloaded$.*^OK$/ms);
      expect(outputs[4]).toBe('remote[primary].key = transfer-key-2.\n');
      expect(outputs[5]).toContain('unknown key');
      expect(outputs[7]).toBe('transfer-key-2\n');
    },
  );

  for (const document of DOCUMENTS) {
    for (const [index, { language, content }] of blocksOf(document).entries()) {
      if (language === 'yaml') {
        test(`${document.path}: block ${index + 1} is a configuration`, () => {
          const path = join(folder, `${document.path.replaceAll('/', '-')}-${index}.yaml`);
          writeFileSync(path, content);
          if (/^nameServer:/m.test(content))
            expect(readAgentFile(path, () => []).url).toBeDefined();
          else expect(readConfig(path, {}).listen).toMatch(/:\d+$/);
        });
      } else if (language === 'json') {
        test(`${document.path}: block ${index + 1} is JSON`, () => {
          expect(() => JSON.parse(content) as unknown).not.toThrow();
        });
      }
    }
  }
});

describe('links and generated pages', () => {
  for (const document of DOCUMENTS) {
    test(`${document.path}: link targets exist`, () => {
      const targets = [...proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)].map(
        ([, target = '']) => target,
      );
      const relative = targets.filter((target) => !/^(?:https?|mailto):/.test(target));
      expect(relative.filter((target) => !leadsSomewhere(document, target))).toEqual([]);
    });
  }

  test.each(Object.entries(FAULTS))('docs/delivery.md explains %s', (code, { reason, remedy }) => {
    const { text } = documentAt('docs/delivery.md');
    const plain = text.replaceAll(/`|\[|\]\([^)]*\)/g, '');
    expect(plain).toContain(`| ${code} | ${reason} | ${remedy} |`);
  });

  test.each([
    ['docs/configuration.md', 'configuration-page'],
    ['deploy/prometheus-alerts.yml', 'alert-rules'],
  ])('%s is the output of `npm run docs`', (path, script) => {
    const { stdout, status, stderr } = spawnSync(process.execPath, [`scripts/${script}.mjs`], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(stdout);
  });
});

/** Returns whether the target of a relative link exists: the file and, if given, the heading. */
function leadsSomewhere(document: Document, target: string): boolean {
  const [path = '', heading] = target.split('#');
  const file = path === '' ? document.path : normalize(join(dirname(document.path), path));
  if (!existsSync(join(ROOT, file))) return false;
  if (heading === undefined) return true;
  const headings = [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^#+ (.+)$/gm)].map(
    ([, text = '']) => anchorOf(text),
  );
  return headings.includes(heading);
}

/** Returns the anchor of a heading in rendered Markdown. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}
