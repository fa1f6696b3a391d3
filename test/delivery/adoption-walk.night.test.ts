import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tsigil } from '../cli/run.ts';
import { call } from '../harness/brands/powerdns.ts';
import { startDeliveryServer, type DeliveryServer } from '../harness/delivery.ts';
import {
  HAND_KEYS,
  HAND_MADE,
  handMadePowerdns,
  HAND_ZONES,
  type HandMade,
} from '../harness/hand-made.ts';
import { permissionsOn, transferring } from '../harness/hand-made-requests.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { run } from '../harness/tools.ts';

/** The commands of a section of the guide. */
function commandsOf(heading: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/adopting.md'), 'utf8');
  const [, section = ''] = text.split(`## ${heading}\n`);
  const [, block = ''] = /```sh\n([^`]+)```/.exec(section) ?? [];
  return block.split('\n').filter(Boolean);
}

/** Returns what the server responds to its operator's own control key. */
async function controlled({ brand, folder, controlPort }: DeliveryServer): Promise<string> {
  switch (brand.driver) {
    case 'bind': {
      const file = join(folder, 'rndc.key');
      return run(folder, 'rndc', '-k', file, '-s', '127.0.0.1', '-p', `${controlPort}`, 'status');
    }
    case 'knot':
      return run(folder, 'knotc', '-s', join(folder, 'knot.sock'), 'status');
    case 'nsd':
      return run(folder, 'nsd-control', '-c', join(folder, 'nsd.conf'), 'status');
    case 'powerdns':
      return JSON.stringify(await call(folder, controlPort, 'GET', ''));
  }
}

/** Returns the files with which the operator controls a server. */
function controlFiles({ folder }: DeliveryServer): (readonly [string, string])[] {
  return readdirSync(folder)
    .filter((name) => ['rndc.key', 'api-key', 'pdns.conf'].includes(name))
    .map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const);
}

/** Returns the options of a server whose operator has yet to create the folder of Tsigil's file. */
function entryOf(server: DeliveryServer) {
  const { local, ...entry } = server.entry as { local: Record<string, unknown> };
  const file = join(server.folder, 'tsigil', 'keys.conf');
  return { ...entry, local: 'file' in local ? { ...local, file } : local };
}

describe.each([...HAND_MADE, handMadePowerdns].filter((brand: HandMade) => brand.isInstalled()))(
  '$name',
  { timeout: 300_000 },
  (brand) => {
    test('30 keys on two name servers are adopted in at most 15 commands, without another right or a failed transfer', async () => {
      const servers = [
        await startDeliveryServer(brand, 'ns1', HAND_ZONES),
        await startDeliveryServer(brand, 'ns2', HAND_ZONES),
      ];
      const [first] = servers as [DeliveryServer];
      const rights = () => Promise.all(servers.map(permissionsOn));
      const control = servers.map(controlFiles);
      const before = await rights();
      expect(before[0]).toContain('transfer of a.test by k30');
      expect(before[0]).toContain('transfer of d.test by k6 from 127.0.0.17');
      // BIND accepts updates of nothing from every key if the zone has a policy.
      expect(before[0]).not.toContain('update of d.test by k30');

      const folder = temporaryFolder();
      const config = join(folder, 'tsigil.yaml');
      writeFileSync(config, '{}\n');
      const admin = { TSIGIL_ADMIN_TOKEN: `test-admin-${randomUUID()}` };
      const serve = () => startServiceProcess(folder, admin, undefined, ['--config', config]);
      let service = await serve();
      const variables = () => ({
        TSIGIL_URL: service.url,
        TSIGIL_TOKEN: service.token,
        TSIGIL_CONFIG: config,
        ...('api-key' in Object.fromEntries(controlFiles(first))
          ? { PDNS_API_KEY: readFileSync(join(first.folder, 'api-key'), 'utf8') }
          : {}),
      });
      const source =
        brand.driver === 'powerdns'
          ? ['--from-powerdns', `http://127.0.0.1:${first.controlPort}`]
          : [join(first.folder, brand.main)];

      const perform = async (command: string): Promise<string> => {
        const [program = '', ...words] = command.split(' ');
        switch (program) {
          case 'install':
            for (const server of servers) mkdirSync(join(server.folder, 'tsigil'));
            return '';
          case 'editor':
            writeFileSync(config, JSON.stringify({ nameServers: servers.map(entryOf) }));
            return '';
          case 'systemctl':
            await service.stop('SIGTERM');
            service = await serve();
            return '';
          case 'rm':
            for (const server of servers)
              for (const name of readdirSync(server.folder))
                if (name.endsWith('.before-tsigil')) rmSync(join(server.folder, name));
            return '';
          default:
            expect(program).toBe('tsigil');
        }
        const argv = words.flatMap((word) => (word === '/etc/bind/named.conf' ? source : [word]));
        const yes = argv.includes('--write') ? ['--yes'] : [];
        const ended = await tsigil(dirname(config), variables(), ...argv, ...yes);
        expect(ended.status, command + ended.out + ended.err).toBe(0);
        return ended.out;
      };

      const clients = transferring(...servers);
      const outputs = new Map<string, string>();
      let count = 0;
      for (const command of commandsOf('The whole way')) {
        outputs.set(command, await perform(command));
        // One for each server.
        count += ['install', 'rm'].includes(command.split(' ')[0] ?? '') ? servers.length : 1;
      }
      const transfers = await clients.end();
      expect(transfers).toBeGreaterThan(0);
      expect(count).toBeGreaterThan(10);
      expect(count).toBeLessThanOrEqual(15);
      expect(outputs.get('tsigil tsigkey verify --all')).toBe('30 keys on 2 servers: 60 good\n');
      expect(await rights()).toEqual(before);
      const { body } = await service.get('/v2/tsigkeys?limit=100');
      const names = (body as { tsigkeys: { name: string }[] }).tsigkeys.map(({ name }) => name);
      expect(names.toSorted()).toEqual(HAND_KEYS.map(({ name }) => name).toSorted());
      expect(servers.map(controlFiles)).toEqual(control);
      for (const server of servers) expect(await controlled(server)).not.toBe('');
    });
  },
);
