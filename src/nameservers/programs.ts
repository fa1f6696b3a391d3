import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The maximum length of a problem that a program reports. */
export const MAX_REASON = 300;

/**
 * Runs a program and returns its standard output and standard error. Throws if the program cannot
 * run.
 */
export async function outputOf(
  program: string,
  parameters: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin' };
  const child = spawn(program, parameters, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child, 'close');
  return output;
}
