import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, PROGRAM } from '../harness/service.ts';

/** The address of the service in documents. */
const SHOWN_ADDRESS = '127.0.0.1:9001';
/** The separator between the outputs of two commands. */
const SEPARATOR = '\u001e';

/**
 * Runs `commands` in one bash, in `folder`, as a reader in a checkout would. It replaces the address of documents with `url`.
 * Returns the output of each command, including errors.
 */
export function runCommands(commands: readonly string[], folder: string, url: string): string[] {
  const address = new URL(url).host;
  const lines = commands.map((command) => `${command.replaceAll(SHOWN_ADDRESS, address)}\nprintf '${SEPARATOR}'\n`);
  const script = join(folder, 'commands.sh');
  writeFileSync(script, `exec 2>&1 </dev/null\n${lines.join('')}`);
  const environment = cleanEnvironment({ PATH: `${installProgram(folder)}:${process.env.PATH}`, TSIGIL_URL: url });
  const { stdout, status } = spawnSync('bash', [script], { cwd: folder, env: environment, encoding: 'utf8', timeout: 50_000 });
  const outputs = stdout.replaceAll(address, SHOWN_ADDRESS).split(SEPARATOR);
  if (outputs.length !== commands.length + 1) throw new Error(`bash ended with ${status} after ${outputs.length - 1} commands: ${outputs.at(-1)}`);
  return outputs.slice(0, -1);
}

/** Returns `text` with everything that differs between runs replaced by a placeholder. */
export function normalise(text: string): string {
  return text
    .replaceAll(/tsigil_[\w-]{43}/g, '(token)')
    .replaceAll(/"secret": ?"[^"]*"/g, '"secret":"(secret)"')
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '(uuid)')
    .replaceAll(/"serial": ?\d{10}/g, '"serial":(serial)')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}/g, '(time)')
    .trimEnd();
}

/** Makes `tsigil` run the built program, and returns the folder to put on PATH. */
function installProgram(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const program = join(bin, 'tsigil');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(program, 0o755);
  return bin;
}
