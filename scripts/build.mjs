// Checks the types of src, and bundles it into dist. With --noCheck, only bundles it. npm also runs
// this script after an installation. Without the compiler, for example in a production install,
// leaves the existing dist unchanged.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';

let compiler;
try {
  compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
} catch {
  if (!existsSync('dist/main.js'))
    throw new Error(
      'The TypeScript compiler is missing. Run `npm ci` without --omit=dev, then `npm run build`.',
    );
}
if (compiler !== undefined) {
  const { bundle } = await import('./bundle.mjs');
  const { bundleConsole } = await import('./console.mjs');
  if (!process.argv.includes('--noCheck')) {
    for (const project of ['tsconfig.build.json', 'src/console']) {
      const arguments_ = [compiler, '-p', project];
      const { status } = spawnSync(process.execPath, arguments_, { stdio: 'inherit' });
      if (status !== 0) process.exit(status ?? 1);
    }
  }
  rmSync('dist', { recursive: true, force: true });
  await bundle(process.cwd(), 'dist');
  await bundleConsole(process.cwd(), 'dist/console');
}
