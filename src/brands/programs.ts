import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { faultOf } from '../net/faults.ts';
import { DriverError } from './driver.ts';

/** The maximum length of a problem that a program reports. */
export const MAX_REASON = 300;

/** Returns standard output and standard error. Throws if the program cannot run. */
export async function outputOf(
  program: string,
  parameters: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  return (await resultOf(program, parameters, signal)).output;
}

/**
 * Runs a program and returns its standard output. Throws `DriverError` if the program cannot run,
 * or fails. The error quotes nothing, because the output may contain secrets.
 */
export async function printedBy(
  program: string,
  parameters: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const command = [program, ...parameters].join(' ');
  const hint = `Run '${command}' as the user of this process.`;
  const { code, standard } = await resultOf(program, parameters, signal).catch((cause: unknown) => {
    const reason = `'${command}' cannot run: ${faultOf(cause).message}.`;
    throw new DriverError('not_permitted', reason, hint, cause);
  });
  if (code === 0) return standard;
  throw new DriverError('not_permitted', `'${command}' failed.`, hint);
}

/**
 * Runs a program that checks something. Returns its output if it fails, and otherwise undefined.
 * The output may contain secrets. Throws `DriverError` if the program cannot run.
 */
export async function problemBy(
  program: string,
  parameters: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { code, output } = await resultOf(program, parameters, signal).catch((cause: unknown) => {
    const reason = `'${program}' cannot run: ${faultOf(cause).message}.`;
    throw new DriverError('not_permitted', reason, `Install '${program}' on this host.`, cause);
  });
  return code === 0 ? undefined : output;
}

async function resultOf(program: string, parameters: readonly string[], signal: AbortSignal) {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin' };
  const child = spawn(program, parameters, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, standard] = ['', ''];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (stream === child.stdout) standard += text;
    });
  await once(child, 'close');
  return { output, standard, code: child.exitCode };
}
