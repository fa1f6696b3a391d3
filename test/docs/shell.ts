import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, PROGRAM } from '../harness/service.ts';
import { TOOL_ENVIRONMENT } from '../harness/tools.ts';

/** The address of the service in documents. */
const SHOWN_ADDRESS = '127.0.0.1:9001';
/** The ports of name servers in documents. */
const SHOWN_PORTS = ['5300', '5301'];
/** The folder of the commands in documents. */
const SHOWN_FOLDER = '/home/ada/tsigil';
/** The separator between the outputs of two commands. */
const SEPARATOR = '\u001e';

/**
 * Runs `commands` in one Bash process in `folder`. Replaces the documented address of the service
 * with `url` and the documented ports of name servers with `ports`. Returns the output of each
 * command, including errors. Afterwards, stops the servers whose `.pid` files are in `folder`.
 */
export function runCommands(
  commands: readonly string[],
  folder: string,
  url: string,
  ports: readonly number[] = [],
): string[] {
  const address = new URL(url).host;
  const replaced = (command: string) =>
    ports.reduce(
      (text, port, index) => text.replaceAll(SHOWN_PORTS[index] ?? '', String(port)),
      command.replaceAll(SHOWN_ADDRESS, address),
    );
  const lines = commands.map((command) => `${replaced(command)}\nprintf '${SEPARATOR}'\n`);
  const script = join(folder, 'commands.sh');
  writeFileSync(script, `exec 2>&1 </dev/null\n${lines.join('')}`);
  const path = `${installProgram(folder)}:${TOOL_ENVIRONMENT.PATH}`;
  const { stdout, status } = spawnSync('bash', [script], {
    cwd: folder,
    env: cleanEnvironment({ PATH: path, TSIGIL_LISTEN: address }),
    encoding: 'utf8',
    timeout: 140_000,
  });
  stopServers(folder);
  const outputs = stdout
    .replaceAll(address, SHOWN_ADDRESS)
    .replaceAll(folder, SHOWN_FOLDER)
    .split(SEPARATOR);
  if (outputs.length !== commands.length + 1)
    throw new Error(
      `bash ended with ${status} after ${outputs.length - 1} commands: ${outputs.at(-1)}`,
    );
  return outputs.slice(0, -1);
}

function stopServers(folder: string): void {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.pid')))
    spawnSync('kill', [readFileSync(join(folder, name), 'utf8').trim()]);
}

/**
 * Replaces tokens, secrets, ids, serials and timestamps with placeholders, because they differ
 * between runs.
 */
export function normalise(text: string): string {
  return text
    .replaceAll(/tsigil_[\w-]{43}/g, '(token)')
    .replaceAll(/"secret": ?"[^"]*"/g, '"secret":"(secret)"')
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '(uuid)')
    .replaceAll(/master key [A-Z2-7]{8}/g, 'master key (id)')
    .replaceAll(/'\/[^']*\/master\.key'/g, "'(folder)/master.key'")
    .replaceAll(/"serial": ?\d{10}/g, '"serial":(serial)')
    .replaceAll(/-tsigil-[0-9a-f]{16}/g, '-tsigil-(random)')
    .replaceAll(/audit batch \d+/g, 'audit batch (number)')
    .replaceAll(/\.replaced-\d{8}T\d{9}/g, '.replaced-(time)')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}/g, '(time)')
    .trimEnd();
}

/**
 * Creates a command `tsigil` that runs the built program. Returns the folder to add to PATH.
 */
function installProgram(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const program = join(bin, 'tsigil');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(program, 0o755);
  return bin;
}
