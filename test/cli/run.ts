import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { recordSecret, recordShown } from '../harness/evidence.ts';
import { cleanEnvironment, PROGRAM } from '../harness/service.ts';

/** The exit code and the output of a command. */
export interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the built program in `folder` with its output in pipes. */
export function tsigil(
  folder: string,
  variables: Record<string, string>,
  ...argv: string[]
): Promise<Ended> {
  return runProgram(folder, variables, process.execPath, PROGRAM, ...argv);
}

/** Runs any program in `folder` with its output in pipes. */
export async function runProgram(
  folder: string,
  variables: Record<string, string>,
  program: string,
  ...argv: string[]
): Promise<Ended> {
  const child = spawn(program, argv, {
    cwd: folder,
    env: cleanEnvironment(variables),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  for (const [token] of out.matchAll(/tsigil_[\w-]{43}/g)) recordSecret(token);
  recordShown('error', err);
  return { status, out, err };
}

/** Returns the words of a command line. Each value is one word, even with blanks. */
export function words(texts: TemplateStringsArray, ...values: readonly string[]): string[] {
  return texts.flatMap((text, index) => [
    ...text.split(/\s+/).filter(Boolean),
    ...values.slice(index, index + 1),
  ]);
}
