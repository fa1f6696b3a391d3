#!/usr/bin/env node
import { VERSION } from './version.ts';

// Packages and scripts ask for the version often, so this flag loads no other file.
const [flag, ...others] = process.argv.slice(2);
if (others.length === 0 && (flag === '--version' || flag === '-V')) {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return;
    process.stderr.write(`tsigil: The output cannot be written: ${code}\n`);
    process.exitCode = 1;
  });
  process.stdout.write(`${VERSION}\n`);
} else {
  const { main } = await import('./commands.ts');
  await main();
}
