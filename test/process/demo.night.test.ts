import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { cleanEnvironment, temporaryFolder } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const DEMO = join(import.meta.dirname, '../../deploy/demo/demo.mjs');

const NAME_SERVERS = [
  { driver: 'bind', program: 'named', title: 'BIND', debian: 'bind9' },
  { driver: 'knot', program: 'knotd', title: 'Knot DNS', debian: 'knot' },
  { driver: 'nsd', program: 'nsd', title: 'NSD', debian: 'nsd' },
  { driver: 'powerdns', program: 'pdns_server', title: 'PowerDNS', debian: 'pdns-server' },
];

/** Starts the demo, which creates its temporary folder in `folder`. */
function startDemo(folder: string, variables: Record<string, string>, ...argv: string[]) {
  const child = spawn(process.execPath, [DEMO, ...argv], {
    cwd: folder,
    // The demo must not use the settings of another service.
    env: cleanEnvironment({ TMPDIR: folder, TSIGIL_URL: 'http://127.0.0.1:9', ...variables }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  return { child, exited, err: text(child.stderr) };
}

function demoFolder(): string {
  const folder = temporaryFolder();
  return folder;
}

/**
 * Returns what the demo has not removed: the files in `folder`, and processes with this path in
 * their command lines.
 */
function remains(folder: string): string[] {
  const processes = readdirSync('/proc').flatMap((id) => {
    try {
      const words = readFileSync(`/proc/${id}/cmdline`, 'utf8');
      return words.includes(`${folder}/tsigil-demo-`) ? [words] : [];
    } catch {
      return []; // the entry is not a process, or the process has ended
    }
  });
  return [...readdirSync(folder), ...processes];
}

describe('npm run demo', () => {
  const tested = NAME_SERVERS;
  test.each(tested.filter(({ program, debian }) => hasProgram(program, debian)))(
    'with $title, a key transfers a zone, the deleted key does not, and the demo removes its files and processes',
    async ({ driver, title }) => {
      const folder = demoFolder();
      const { child, exited, err } = startDemo(folder, {}, driver);
      const out = await text(child.stdout);
      expect({ status: (await exited)[0], err: await err }).toEqual({ status: 0, err: '' });
      const [, , , created = '', sent = '', unsigned = '', , deleted = ''] = out.split(/^\d\. /m);
      expect(created).toMatch(/live and verified \d+ ms after its creation/);
      expect(sent).toMatch(/SOA|the server sent the zone/);
      expect(unsigned).toMatch(
        /^Without the key, .* refuses the transfer\.[^]*(?:Transfer failed|REFUSED)/,
      );
      expect(unsigned).not.toContain('SOA');
      expect(deleted).toMatch(
        /^With the deleted key, .* refuses the transfer\.[^]*(?:failed|unknown key)/,
      );
      expect(deleted).not.toContain('SOA');
      expect(out).toContain(title);
      expect(remains(folder)).toEqual([]);
    },
  );

  test.runIf(hasProgram('named', 'bind9'))(
    'sends the requests itself if dig is not installed',
    async () => {
      const folder = demoFolder();
      const empty = join(folder, 'no-programs');
      mkdirSync(empty);
      const { child, exited } = startDemo(folder, { PATH: empty }, 'bind');
      const out = await text(child.stdout);
      expect((await exited)[0]).toBe(0);
      expect(out).toContain('good (without dig): the server sent the zone (3 records)');
      expect(out).toContain('The server refuses the zone (without dig).');
      expect(out).toContain('unknown key (without dig)');
    },
  );

  test.runIf(hasProgram('named', 'bind9'))(
    'stops its child processes and removes its folder after SIGTERM',
    async () => {
      const folder = demoFolder();
      const { child, exited, err } = startDemo(folder, {}, 'bind');
      let out = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        out += part;
        if (!child.killed && out.includes('2. The service runs')) child.kill('SIGTERM');
      });
      expect((await exited)[0]).toBe(1);
      expect(await err).toBe('The demo failed: Stopped by SIGTERM\n');
      expect(remains(folder)).toEqual([]);
    },
  );
});
