import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Client } from './client.ts';
import { DEFAULT_POOL, type DeliveryServer } from './delivery.ts';
import { recordShown } from './evidence.ts';
import { endWithTests } from './leftovers.ts';
import { cleanEnvironment, PROGRAM } from './service.ts';

/** An agent that runs as a process of the built program. */
export interface TestAgent {
  /** The id of the name server. */
  readonly id: string;
  /** The configuration file. */
  readonly config: string;
  readonly tokenFile: string;
  /** The id of the process. */
  pid(): number;
  /** Everything that the agent has printed. */
  output(): string;
  /** Starts the agent as a new process. `wrapper` is a command that runs the process. */
  start(wrapper?: readonly string[]): void;
  /** Resumes the process after SIGSTOP. */
  continue(): void;
  /** Sends a signal and returns the exit code, or null if the signal ended the process. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

/**
 * Creates a name server in a service, a token for its agent, and the configuration of the agent.
 * `url` is the URL of the service in this configuration.
 */
export async function createAgent(
  admin: Client,
  { entry, folder, brand }: Pick<DeliveryServer, 'entry' | 'folder' | 'brand'>,
  url = admin.url,
): Promise<TestAgent> {
  const { name, address, rights, probeZone } = entry;
  const server = await admin.post('/v2/nameservers', {
    name,
    address,
    rights,
    probe_zone: probeZone,
    driver: brand.driver,
    pool_id: DEFAULT_POOL,
    delivery: 'agent',
  });
  const id = String(server.body.id);
  const { body } = await admin.post('/v2/tokens', {
    name: `agent-${randomUUID()}`,
    roles: ['nameserver-agent'],
    nameservers: [id],
  });
  const [config, tokenFile] = [join(folder, 'agent.yaml'), join(folder, 'agent.token')];
  writeFileSync(tokenFile, `${String(body.token)}\n`, { mode: 0o600 });
  const { driver, local } = entry;
  writeFileSync(
    config,
    JSON.stringify({ url, tokenFile, nameServer: name, agent: 'test-host', driver, local }),
  );
  return agentProcess({ id, config, tokenFile });
}

/** Returns an agent with this configuration. The agent is not running yet. */
function agentProcess({
  id,
  config,
  tokenFile,
}: Pick<TestAgent, 'id' | 'config' | 'tokenFile'>): TestAgent {
  let output = '';
  let child: ChildProcess | undefined;
  return {
    id,
    config,
    tokenFile,
    pid: () => child?.pid ?? 0,
    output: () => output,
    start(wrapper = []) {
      const [file, ...words] = [...wrapper, process.execPath, PROGRAM, 'agent', '--config', config];
      const started = spawn(file, words, {
        cwd: dirname(config),
        env: cleanEnvironment(),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = endWithTests(started);
      for (const stream of [started.stdout, started.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text;
          recordShown('output', text);
        });
    },
    continue: () => void child?.kill('SIGCONT'),
    async stop(signal) {
      if (child === undefined) return null;
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const ended = once(child, 'close'); // not at the exit, because output may still be in the pipes then
      child.kill(signal);
      await ended;
      return child.exitCode;
    },
  };
}
