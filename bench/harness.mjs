import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT, temporaryFolder } from './service.mjs';

/**
 * Returns the functions and tables with which tests start and query name servers: `BRANDS`,
 * `startDrivenServer`, `ZONES` and `probeKey`.
 */
export function nameServerHarness() {
  // The test harness writes the output of name servers into this folder.
  process.env.TEST_RUN_FOLDER = temporaryFolder();
  return bundled({
    brands: 'test/harness/brands/brands.ts',
    server: 'test/harness/driven-server.ts',
    probe: 'src/net/probe.ts',
  });
}

/** Returns `startPostgres` and `createDatabase`, with which tests start PostgreSQL. */
export function postgresHarness() {
  return bundled({ postgres: 'test/harness/postgres.ts' });
}

/**
 * Returns what modules of the checkout export together. First bundles them, because Node.js 20
 * cannot run TypeScript.
 */
async function bundled(paths) {
  const folder = temporaryFolder();
  for (const name of ['node_modules', 'package.json'])
    symlinkSync(join(ROOT, name), join(folder, name));
  const build = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(
      Object.entries(paths).map(([name, path]) => [name, join(ROOT, path)]),
    ),
    platform: 'node',
    external: /^[^./]/, // packages and built-in modules of Node.js
    treeshake: { moduleSideEffects: false }, // vitest cannot be imported outside its runs
    logLevel: 'warn',
  });
  await build.write({ dir: folder, format: 'esm', entryFileNames: '[name].js' });
  await build.close();
  const modules = await Promise.all(
    Object.keys(paths).map((name) => import(join(folder, `${name}.js`))),
  );
  return Object.assign({}, ...modules);
}
