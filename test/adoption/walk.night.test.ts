import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { tsigil } from '../cli/run.ts';
import { startDeliveryServer, type DeliveryServer } from '../harness/delivery.ts';
import { HAND_MADE, HAND_ZONES } from '../harness/hand-made.ts';
import { permissionsOn, transferring } from '../harness/hand-made-requests.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';

/** The commands of a section of the guide. */
function commandsOf(heading: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/adopting.md'), 'utf8');
  const [, section = ''] = text.split(`## ${heading}\n`);
  const [, block = ''] = /```sh\n([^`]+)```/.exec(section) ?? [];
  return block.split('\n').filter(Boolean);
}

/** Returns the options of a server whose operator has yet to create the folder of Tsigil's file. */
function entryOf(server: DeliveryServer) {
  const { local, ...entry } = server.entry as { local: object };
  return { ...entry, local: { ...local, file: join(server.folder, 'tsigil', 'keys.conf') } };
}

const [brand] = HAND_MADE.filter(({ driver, isInstalled }) => driver === 'bind' && isInstalled());

test.runIf(brand !== undefined)(
  'the commands of docs/adopting.md adopt 30 keys on two name servers, without another right or a failed transfer',
  { timeout: 300_000 },
  async () => {
    if (brand === undefined) return;
    const servers = [
      await startDeliveryServer(brand, 'ns1', HAND_ZONES),
      await startDeliveryServer(brand, 'ns2', HAND_ZONES),
    ];
    const rights = () => Promise.all(servers.map(permissionsOn));
    const before = await rights();
    const folder = temporaryFolder();
    const config = join(folder, 'tsigil.yaml');
    writeFileSync(config, '{}\n');
    const admin = { TSIGIL_ADMIN_TOKEN: `test-admin-${randomUUID()}` };
    const serve = () => startServiceProcess(folder, admin, undefined, ['--config', config]);
    let service = await serve();

    /** What the words of a command mean here. The others are commands of `tsigil`. */
    const steps: Readonly<Record<string, () => unknown>> = {
      install() {
        for (const server of servers) mkdirSync(join(server.folder, 'tsigil'));
      },
      editor: () => writeFileSync(config, JSON.stringify({ nameServers: servers.map(entryOf) })),
      async systemctl() {
        await service.stop('SIGTERM');
        service = await serve();
      },
      rm() {
        for (const server of servers)
          for (const name of readdirSync(server.folder))
            if (name.endsWith('.before-tsigil')) rmSync(join(server.folder, name));
      },
    };
    const perform = async (command: string): Promise<string> => {
      const [program = '', ...words] = command.split(' ');
      if (program !== 'tsigil') return String(await steps[program]?.());
      const main = join(servers[0]?.folder ?? '', brand.main);
      const argv = words.map((word) => (word === '/etc/bind/named.conf' ? main : word));
      const yes = argv.includes('--write') ? ['--yes'] : [];
      const variables = {
        TSIGIL_URL: service.url,
        TSIGIL_TOKEN: service.token,
        TSIGIL_CONFIG: config,
      };
      const ended = await tsigil(dirname(config), variables, ...argv, ...yes);
      expect(ended.status, command + ended.out + ended.err).toBe(0);
      return ended.out;
    };

    const clients = transferring(...servers);
    const outputs = new Map<string, string>();
    for (const command of commandsOf('The whole way')) outputs.set(command, await perform(command));
    expect(await clients.end()).toBeGreaterThan(0);
    expect(outputs.get('tsigil tsigkey verify --all')).toBe('30 keys on 2 servers: 60 good\n');
    expect(await rights()).toEqual(before);
  },
);
