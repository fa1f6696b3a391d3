import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { beforeAll, expect, test } from 'vitest';
import { optionsOf } from '../../src/cli/flags/help.ts';
import { EXIT } from '../../src/cli/output/command-error.ts';
import { createProgram } from '../../src/cli/program.ts';
import { COMMANDS } from '../../src/http/openapi/commands.ts';
import { DOCUMENTED_METHODS, type ApiDocument } from '../../src/http/openapi/document.ts';
import { createMasterKeyFile } from '../../src/store/secrets/master-keys.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { NO_LOCAL_COMMANDS, NO_TERMINAL, runInside } from './session.ts';

/** What the commands name. Earlier commands may have deleted it. */
const RESOURCES = {
  tlds: { name: 'com' },
  pools: { name: 'anycast' },
  zones: { name: 'example.com.', email: 'hostmaster@example.com' },
  tsigkeys: { name: 'transfer-key', algorithm: 'hmac-sha256', pool: 'default' },
  nameservers: { name: 'ns1', driver: 'powerdns', pool: 'default', address: '127.0.0.1:1' },
  tokens: { name: 'terraform', roles: ['reader'] },
};

const ROTATE = 'tsigil tsigkey rotate transfer-key';

/** What runs before a command that needs a rotation. */
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  retire_tsigkey: [ROTATE],
  abort_tsigkey_rotation: [ROTATE],
  confirm_tsigkey_rotation: [ROTATE],
  restore_tsigkey: [ROTATE, 'tsigil tsigkey retire transfer-key --force'],
};

/**
 * Commands that do the same in another way: one reads the configuration of a running name server
 * first, the other writes the file itself.
 */
const NOT_SENT = ['release_nameserver', 'export_tsigkey'];

/** Commands about this machine or the client, or whose requests no operation documents. */
const OTHERS =
  /^tsigil (?:login|logout|profile list|console|completion|complete|help|serve|agent|check-config|backup|restore|migrate|copy-database|tsigkey (?:import|verify)|nameserver (?:onboard|adopt)|encryption (?:new-master-key|scrub|reset|accept)|audit export)$/;

const folder = temporaryFolder();
let service: TestService;
let operations: ReadonlyMap<string, string>;

beforeAll(async () => {
  const file = join(folder, 'master.key');
  createMasterKeyFile(file);
  service = await startTestService({ TSIGIL_ENCRYPTION_MASTER_KEY_FILE: file });
  const { paths } = (await service.get('/openapi.json')).body as ApiDocument;
  operations = new Map(
    Object.entries(paths).flatMap(([path, item]) =>
      DOCUMENTED_METHODS.flatMap((method) => {
        const route = `${method.toUpperCase()} ${path.replace('{id}', ':id')}`;
        return item[method] === undefined ? [] : [[item[method].operationId, route] as const];
      }),
    ),
  );
  writeFileSync(join(folder, 'tlds.txt'), 'net\n');
});

/** Returns all commands without subcommands below a command, also hidden ones. */
function leavesBelow(command: Command, words: readonly string[]): [readonly string[], Command][] {
  return command.commands.flatMap((child): [readonly string[], Command][] => {
    const path = [...words, child.name()];
    return child.commands.length === 0 ? [[path, child]] : leavesBelow(child, path);
  });
}

function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
}

function run(command: string) {
  const [, ...words] = wordsOf(command);
  const argv = words.map((word) => (word === 'tlds.txt' ? join(folder, word) : word));
  return runInside({ variables: service.variables }, ...argv);
}

test('each operation with a command is documented', () => {
  expect(Object.keys(COMMANDS).filter((id) => !operations.has(id))).toEqual([]);
});

test('each command and each of its flags exists, and each command of the API is in the table', async () => {
  const program = await createProgram('0.0.0', NO_LOCAL_COMMANDS, NO_TERMINAL);
  const leaves = leavesBelow(program, ['tsigil']);
  const used = new Set<string>();
  for (const text of Object.values(COMMANDS)) {
    const words = wordsOf(text);
    const [path, command] =
      leaves.find(([path]) => path.every((word, at) => words[at] === word)) ?? [];
    const known = (command ? optionsOf(command) : []).flatMap(({ long }) => long ?? []);
    const flags = words.filter((word) => word.startsWith('--'));
    expect(path, text).toBeDefined();
    expect(known, text).toEqual(expect.arrayContaining(flags));
    used.add(path?.join(' ') ?? '');
  }
  const missing = leaves.map(([path]) => path.join(' ')).filter((name) => !used.has(name));
  expect(missing.filter((name) => !OTHERS.test(name))).toEqual([]);
});

test.each(Object.entries(COMMANDS).filter(([id]) => !NOT_SENT.includes(id)))(
  '%s is sent by %s',
  async (id, command) => {
    const { body: kept } = await service.get('/v2/tsigkeys');
    for (const key of BEFORE[id] === undefined ? [] : (kept.tsigkeys as { id: string }[]))
      await service.delete(`/v2/tsigkeys/${key.id}`, { 'tsigil-force': 'true' });
    for (const [collection, body] of Object.entries(RESOURCES)) {
      const listed = await service.get(`/v2/${collection}?name=${body.name}`);
      if ((listed.body[collection] as unknown[]).length === 0)
        expect((await service.post(`/v2/${collection}`, body)).status).toBe(201);
    }
    for (const earlier of BEFORE[id] ?? []) expect(await run(earlier)).toMatchObject({ status: 0 });
    service.log.length = 0;
    const { status, err } = await run(command);
    expect(status, err).not.toBe(EXIT.usage);
    const sent = () =>
      service.log.map((line) => JSON.parse(line) as { method?: string; route?: string });
    await expect
      .poll(() => sent().map(({ method, route }) => `${method} ${route}`), {
        message: err,
        timeout: 5000,
      })
      .toContain(operations.get(id));
  },
);
