// Compiles src into dist. Takes options of the compiler, such as --noCheck. Also runs after an
// installation. Without the compiler, a production install uses the existing dist.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';

let compiler;
try {
  compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
} catch {
  if (!existsSync('dist/main.js'))
    throw new Error(
      'The compiler is not installed: run `npm ci` without --omit=dev, then `npm run build`.',
    );
}
if (compiler !== undefined) {
  rmSync('dist', { recursive: true, force: true });
  const { status } = spawnSync(
    process.execPath,
    [compiler, '-p', 'tsconfig.build.json', ...process.argv.slice(2)],
    { stdio: 'inherit' },
  );
  if (status !== 0) process.exit(status ?? 1);
  chmodSync('dist/main.js', 0o755);
}
