import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { blocksOf, ROOT } from '../docs/documents.ts';
import { POOL_ID } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { hasProgram, isMet } from '../harness/tools.ts';

const PAGE = 'docs/programs.md';
const PACKAGES = join(ROOT, 'node_modules');
const blocks = blocksOf({ path: PAGE, text: readFileSync(join(ROOT, PAGE), 'utf8') });
const folder = temporaryFolder();
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const pool = { name: 'deploy', roles: ['keymanager'], pools: [POOL_ID] };
  const { body, text: refusal } = await service.post('/v2/tokens', pool);
  expect(body.token, refusal).toBeDefined();
  writeFileSync(join(folder, 'deploy.token'), `${body.token}\n`, { mode: 0o600 });
});

/** Writes the program of the page in this language into a new folder, and returns the folder. */
function writeProgram(language: string, name: string): string {
  const programs = blocks.filter((block) => block.language === language);
  expect(programs).toHaveLength(1);
  const home = join(folder, language);
  mkdirSync(home);
  writeFileSync(join(home, name), programs[0]?.content ?? '');
  return home;
}

async function run(cwd: string, variables: object, program: string, ...argv: string[]) {
  const env = { PATH: `/usr/bin:/bin`, HOME: cwd, ...variables };
  const child = spawn(program, argv, { cwd, env });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { status, out, err };
}

/** Expects that the program creates the key, and takes it as it is the second time. */
async function expectKey(home: string, program: string, ...argv: string[]): Promise<void> {
  const variables = { TSIGIL_URL: service.url, TOKEN_FILE: join(folder, 'deploy.token') };
  const found = async () => (await service.get('/v2/tsigkeys?pool=default')).body.tsigkeys;
  expect(await found()).toEqual([]);
  const expected = { status: 0, out: 'deploy-key: none\n', err: '' };
  expect(await run(home, variables, program, ...argv)).toEqual(expected);
  const [created] = await found();
  expect(await run(home, variables, program, ...argv)).toEqual(expected);
  expect(await found()).toEqual([created]);
  await service.delete(`/v2/tsigkeys/${created.id}`);
}

describe('the programs of docs/programs.md', { timeout: 300_000 }, () => {
  test('in TypeScript compiles with the generated types, and creates a key', async () => {
    const home = writeProgram('typescript', 'program.ts');
    const description = await service.get('/openapi.json');
    writeFileSync(join(home, 'openapi.json'), description.text);
    writeFileSync(join(home, 'package.json'), JSON.stringify({ type: 'module' }));
    symlinkSync(PACKAGES, join(home, 'node_modules'));
    const generator = join(PACKAGES, 'openapi-typescript/bin/cli.js');
    const node = process.execPath;
    expect(await run(home, {}, node, generator, 'openapi.json', '-o', 'api.ts')).toMatchObject({
      status: 0,
    });
    const flags = ['--strict', '--target', 'es2023', '--module', 'nodenext', '--types', 'node'];
    const compiler = join(PACKAGES, 'typescript/bin/tsc');
    expect(await run(home, {}, node, compiler, ...flags, 'program.ts')).toEqual({
      status: 0,
      out: '',
      err: '',
    });
    await expectKey(home, node, 'program.js');
  });

  const keystoneauth = () =>
    spawnSync('/usr/bin/python3', ['-c', 'import keystoneauth1.adapter']).status === 0;
  test.runIf(
    isMet(keystoneauth, {
      name: 'keystoneauth',
      absence: 'keystoneauth1 is not installed for /usr/bin/python3',
      debianPackage: 'python3-keystoneauth1',
    }),
  )('in Python creates a key', async () => {
    await expectKey(writeProgram('python', 'program.py'), '/usr/bin/python3', 'program.py');
  });

  const gophercloud = () =>
    spawnSync('dpkg-query', ['-W', 'golang-github-gophercloud-gophercloud-dev']).status === 0;
  test.runIf(
    hasProgram('go', 'golang-go') &&
      isMet(gophercloud, {
        name: 'gophercloud',
        absence: 'gophercloud is not installed',
        debianPackage: 'golang-github-gophercloud-gophercloud-dev',
      }),
  )('in Go creates a key', async () => {
    const home = writeProgram('go', 'program.go');
    const variables = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode' };
    expect(await run(home, variables, 'gofmt', '-l', 'program.go')).toMatchObject({ out: '' });
    const build = await run(home, variables, 'go', 'build', '-o', 'program', 'program.go');
    expect(build).toEqual({ status: 0, out: '', err: '' });
    await expectKey(home, join(home, 'program'));
  });
});
