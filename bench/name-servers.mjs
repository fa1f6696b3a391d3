import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT, temporaryFolder } from './service.mjs';

/** The modules of the checkout that start name servers and send signed queries. */
const MODULES = {
  brands: 'test/harness/brands/brands.ts',
  server: 'test/harness/driven-server.ts',
  drivers: 'src/nameservers/drivers.ts',
  probe: 'src/net/probe.ts',
};

/**
 * Returns the functions and tables with which tests start and query name servers: `BRANDS`,
 * `startDrivenServer`, `ZONES`, `DRIVERS` and `probeKey`. First bundles the modules, because
 * Node.js 20 cannot run TypeScript.
 */
export async function nameServerHarness() {
  const folder = temporaryFolder();
  for (const name of ['node_modules', 'package.json'])
    symlinkSync(join(ROOT, name), join(folder, name));
  // The test harness writes the output of name servers into this folder.
  process.env.TEST_RUN_FOLDER = temporaryFolder();
  const build = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(
      Object.entries(MODULES).map(([name, path]) => [name, join(ROOT, path)]),
    ),
    platform: 'node',
    external: /^[^./]/, // packages and built-in modules of Node.js
    treeshake: { moduleSideEffects: false }, // vitest cannot be imported outside its runs
    logLevel: 'warn',
  });
  await build.write({ dir: folder, format: 'esm', entryFileNames: '[name].js' });
  await build.close();
  const modules = await Promise.all(
    Object.keys(MODULES).map((name) => import(join(folder, `${name}.js`))),
  );
  return Object.assign({}, ...modules);
}
