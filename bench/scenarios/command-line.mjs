import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { interleave, rowOf } from '../rounds.mjs';
import { ownToken, ROOT, startService } from '../service.mjs';

/**
 * Compares the wall time of commands with the time of an empty program of Node.js. Each command
 * runs directly after the empty program, so that both see the same load of the machine.
 */
export async function commandLine(bench) {
  const service = await startService({});
  const token = (await ownToken(service))['x-auth-token'];
  const environment = { PATH: process.env.PATH, TSIGIL_URL: service.url, TSIGIL_TOKEN: token };
  const timed = (...parameters) => {
    const began = performance.now();
    const { status, stderr } = spawnSync(process.execPath, parameters, {
      encoding: 'utf8',
      env: environment,
    });
    if (status !== 0) throw new Error(`${parameters.join(' ')}: ${stderr}`);
    const milliseconds = performance.now() - began;
    return { rate: 1000 / milliseconds, cpu: milliseconds * 1000, p50: milliseconds };
  };
  const program = join(ROOT, 'dist/main.js');
  const rows = [];
  for (const [name, atMost, ...parameters] of [
    ['--version', 1.5, '--version'],
    ['tsigkey list', 3, 'tsigkey', 'list'],
  ]) {
    const { node, command } = await interleave(
      { ...bench, rounds: bench.quick ? 5 : 15 },
      { node: async () => timed('-e', '0'), command: async () => timed(program, ...parameters) },
    );
    rows.push(
      rowOf({
        name: `command line: ${name} against node -e 0`,
        measured: command,
        floor: node,
        target: { atMost },
      }),
    );
  }
  await service.stop();
  return rows;
}
