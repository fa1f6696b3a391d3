import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportKey } from '../../src/domain/export-formats/formats.ts';
import { createAgent, type TestAgent } from '../harness/agent.ts';
import { bind } from '../harness/brands/bind.ts';
import {
  createKey,
  createZones,
  deliveries,
  untilLive,
  type CreatedKey,
} from '../harness/delivery.ts';
import { ZONES, zoneText } from '../harness/driven-server.ts';
import { recordShown } from '../harness/evidence.ts';
import { createNamespace } from '../harness/namespace.ts';
import { listeningPorts } from '../harness/process-state.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';
import { hasProgram, TOOL_ENVIRONMENT } from '../harness/tools.ts';

// Containers often cannot create namespaces. The tests are then skipped, even if REQUIRE is set.
const namespace = await createNamespace();
if (namespace === undefined)
  process.stderr.write('\n*** SKIPPED: network namespaces are not permitted ***\n\n');
const isRun = namespace !== undefined && bind.isInstalled() && hasProgram('dig', 'bind9-dnsutils');

const DNS = 53;
const CONTROL = 953;

describe.runIf(isRun)('an agent in a separate network namespace', () => {
  const { outside = '', wrapper = [], run, sockets, remove } = { ...namespace };
  const [folder, serviceFolder] = [temporaryFolder(), temporaryFolder()];
  let service: ServiceProcess;
  let agent: TestAgent;
  let named: ChildProcess;

  beforeAll(async () => {
    service = await startServiceProcess(serviceFolder, {
      TSIGIL_DATABASE_URL: 'sqlite:t.db',
      TSIGIL_LISTEN: `${outside}:0`,
    });
    await createZones(service);
    named = await startBind();
    const local = bind.options({ folder, controlPort: CONTROL });
    const entry = {
      name: 'ns1',
      driver: 'bind',
      rights: ['transfer', 'update'],
      local,
      address: `127.0.0.1:${DNS}`,
      probeZone: `${ZONES[0]}.`,
    };
    agent = await createAgent(service, { entry, folder, brand: bind });
    agent.start(wrapper);
    await untilLive(service);
  });
  afterAll(async () => {
    await agent.stop('SIGTERM');
    const ended = once(named, 'exit');
    named.kill('SIGTERM');
    await ended;
    await service.stop('SIGTERM');
    await remove?.();
  });

  /** Starts BIND in the namespace, with DNS and the control channel on its loopback address. */
  async function startBind(): Promise<ChildProcess> {
    mkdirSync(join(folder, 'keys'));
    for (const zone of ZONES) writeFileSync(join(folder, `${zone}.zone`), zoneText(zone));
    bind.configure(folder, DNS, CONTROL);
    const [program = '', ...words] = [...wrapper, ...bind.command(folder)];
    const child = spawn(program, words, {
      cwd: folder,
      env: TOOL_ENVIRONMENT,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      recordShown('output', text);
    });
    while (!/ running\n/.test(output)) {
      if (child.exitCode !== null) throw new Error(`BIND ended: ${output}`);
      await pause(20);
    }
    return child;
  }

  /** Transfers a zone with a key in the namespace, and returns the output of dig. */
  function transfer(key: CreatedKey): string {
    const file = join(folder, `${key.name}.key`);
    writeFileSync(file, exportKey('bind', key).text, { mode: 0o600 });
    return run?.('dig', '@127.0.0.1', '-p', `${DNS}`, '-k', file, ZONES[0], 'AXFR') ?? '';
  }

  test('delivers a new key, and removes a deleted key', async () => {
    const key = await createKey(service, 'first');
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    expect(transfer(key)).toContain(`ns.${ZONES[0]}.`);
    await service.delete(`/v2/tsigkeys/${key.id}`);
    await untilLive(service);
    expect(transfer(key)).toContain('Transfer failed');
  });

  test('has no listening socket, and the name server listens only on its loopback address', () => {
    expect(listeningPorts(agent.pid())).toEqual([]);
    const listening = sockets?.('tcp').filter(({ isListening }) => isListening) ?? [];
    const addresses = new Set(
      [...listening, ...(sockets?.('udp') ?? [])].map(({ local }) => local),
    );
    expect([...addresses].sort()).toEqual([`127.0.0.1:${DNS}`, `127.0.0.1:${CONTROL}`]);
  });

  test('has no connection to the outside except to the service', () => {
    const remotes = (sockets?.('tcp') ?? [])
      .filter(({ local, isListening }) => !isListening && !local.startsWith('127.'))
      .map(({ remote }) => remote);
    expect(new Set(remotes)).toEqual(new Set([new URL(service.url).host]));
  });
});
