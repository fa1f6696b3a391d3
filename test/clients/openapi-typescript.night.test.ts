import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ApiDocument } from '../../src/http/openapi/document.ts';
import { DOCUMENTED_METHODS, readDocument } from '../harness/description.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGES = join(ROOT, 'node_modules');
const PROGRAM = readFileSync(join(import.meta.dirname, 'openapi-client.program.txt'), 'utf8');
const COMPILER_OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  target: 'es2023',
  lib: ['es2023', 'dom', 'dom.iterable'],
  module: 'nodenext',
  types: ['node'],
  outDir: 'built',
};
/** The time limit in milliseconds, for generating and compiling the types. */
const TIMEOUT = 120_000;

const folder = temporaryFolder();
let service: TestService;
let api: ApiDocument;
beforeAll(async () => {
  service = await startTestService();
  api = await readDocument(service);
});

/** Runs a JavaScript program with Node.js in the folder of the test. */
async function run(program: string, ...argv: string[]) {
  const child = spawn(process.execPath, [program, ...argv], { cwd: folder });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { status, output: out + err };
}

describe('the types that openapi-typescript generates', { timeout: TIMEOUT }, () => {
  test('openapi-client.program.txt calls every operation', () => {
    const called = new Set(
      [...PROGRAM.matchAll(/client\.([A-Z]+)\('([^']+)'/g)].map(
        ([, method, path]) => `${method} ${path}`,
      ),
    );
    const plain = ['/healthcheck', '/readyz', '/metrics', '/docs'].map((path) => `GET ${path}`);
    const operations = Object.entries(api.paths).flatMap(([path, item]) =>
      DOCUMENTED_METHODS.filter((method) => item[method] !== undefined).map(
        (method) => `${method.toUpperCase()} ${path}`,
      ),
    );
    expect([...called, ...plain].toSorted()).toEqual(operations.toSorted());
  });

  test('a strict program compiles with the generated types, and works', async () => {
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(api));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    writeFileSync(join(folder, 'program.ts'), PROGRAM);
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ['program.ts'] }),
    );
    symlinkSync(PACKAGES, join(folder, 'node_modules'));
    mkdirSync(join(folder, 'built'));
    const generator = join(PACKAGES, 'openapi-typescript/bin/cli.js');
    expect(await run(generator, 'openapi.json', '-o', 'api.ts')).toMatchObject({ status: 0 });
    expect(await run(join(PACKAGES, 'typescript/bin/tsc'))).toEqual({ status: 0, output: '' });
    const { status, output } = await run('built/program.js', service.url, service.token);
    expect(status, output).toBe(0);
    expect(JSON.parse(output)).toEqual({
      problemCount: 0,
      keyState: 'none',
      opensAll: true,
      opened: 'all',
      more: 0,
      delivered: 0,
      action: 'tlds:create',
      description: null,
      allowed: true,
      servers: [],
      status: 'ACTIVE',
      nameservers: [],
      quota: -1,
      secret: 44,
      shown: 50,
    });
  });
});
