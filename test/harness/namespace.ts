import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { TOOL_ENVIRONMENT } from './tools.ts';

/** A network namespace, with a link to the namespace of the tests. */
export interface Namespace {
  /** The address of the tests on the link. */
  readonly outside: string;
  /** The address of the namespace on the link. */
  readonly inside: string;
  /**
   * The prefix that makes a command run inside the namespace. The command ends when the tests end.
   */
  readonly wrapper: readonly string[];
  /** Runs a command inside the namespace and returns its output. Throws if the command fails. */
  run(...words: readonly string[]): string;
  /** Returns the sockets of all processes inside the namespace. */
  sockets(table: 'tcp' | 'udp'): Socket[];
  /** Deletes the link and the namespace. */
  remove(): Promise<void>;
}

/** A socket, as the Linux kernel lists it. */
export interface Socket {
  /** The local address as `ADDRESS:PORT`. IPv6 addresses are 32 hexadecimal digits. */
  readonly local: string;
  readonly remote: string;
  readonly isListening: boolean;
}

/**
 * Creates a network namespace. Returns undefined if this user may not create a namespace, or if
 * `unshare` or `ip` is missing. The namespace and its link disappear when the tests end, even if a
 * signal kills the tests.
 */
export async function createNamespace(): Promise<Namespace | undefined> {
  // A namespace exists while a process is in it. `cat` ends when the tests end.
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], {
    env: TOOL_ENVIRONMENT,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(holder, 'close').catch(() => undefined);
  const isReady = await Promise.race([once(holder.stdout, 'data'), ended.then(() => undefined)]);
  const { pid } = holder;
  if (isReady === undefined || pid === undefined) return undefined;
  const number = randomInt(1, 255);
  const [outside, inside] = [`169.254.${number}.1`, `169.254.${number}.2`];
  const link = `tsigil${randomInt(1_000_000)}`;
  const enter = ['nsenter', `--net=/proc/${pid}/ns/net`];
  const isLinked = [
    ['ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'uplink', 'netns', String(pid)],
    ['ip', 'address', 'add', `${outside}/30`, 'dev', link],
    ['ip', 'link', 'set', link, 'up'],
    [...enter, 'ip', 'link', 'set', 'lo', 'up'],
    [...enter, 'ip', 'address', 'add', `${inside}/30`, 'dev', 'uplink'],
    [...enter, 'ip', 'link', 'set', 'uplink', 'up'],
  ].every((words) => output(words).status === 0);
  const remove = async () => {
    const { status, stderr } = output(['ip', 'link', 'delete', link]);
    holder.kill('SIGKILL');
    await ended;
    if (isLinked && status !== 0) throw new Error(`The link ${link} was not deleted: ${stderr}`);
  };
  if (!isLinked) {
    await remove();
    return undefined;
  }
  const wrapper = [...enter, 'setpriv', '--pdeathsig', 'KILL'];
  return {
    outside,
    inside,
    wrapper,
    remove,
    run(...words) {
      const { status, stdout, stderr } = output([...wrapper, ...words]);
      if (status !== 0) throw new Error(`${words[0]} ended with ${status}: ${stdout}${stderr}`);
      return stdout;
    },
    sockets: (table) => [table, `${table}6`].flatMap((name) => readSockets(pid, name)),
  };
}

function output([program = '', ...words]: readonly string[]) {
  const options = { env: TOOL_ENVIRONMENT, encoding: 'utf8', timeout: 60_000 } as const;
  return spawnSync(program, words, options);
}

function readSockets(pid: number, table: string): Socket[] {
  const lines = readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1);
  return lines.map((line) => {
    const [, local = '', remote = '', state] = line.trim().split(/\s+/);
    return { local: endpoint(local), remote: endpoint(remote), isListening: state === '0A' };
  });
}

function endpoint(text: string): string {
  const [address = '', port = ''] = text.split(':');
  const bytes = address.length === 8 ? [...Buffer.from(address, 'hex')].reverse() : undefined;
  return `${bytes?.join('.') ?? address}:${Number.parseInt(port, 16)}`;
}
