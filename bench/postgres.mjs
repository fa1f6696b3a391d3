import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './service.mjs';

/**
 * Returns `startPostgres` and `createDatabase` from `test/harness/postgres.ts`. First compiles the
 * file, because Node.js 20 cannot run TypeScript.
 */
export async function postgresHarness() {
  const source = readFileSync(join(ROOT, 'test/harness/postgres.ts'), 'utf8');
  const options = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext };
  const folder = join(ROOT, 'node_modules/.cache/bench');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'postgres.mjs');
  writeFileSync(path, ts.transpileModule(source, { compilerOptions: options }).outputText);
  return import(path);
}
