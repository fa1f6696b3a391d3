import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { OPTIONS, variableOf } from '../src/options.ts';
import { blocksOf, ROOT } from './docs/documents.ts';
import { startTestService, temporaryFolder } from './harness/service.ts';
import { hasProgram, TOOL_ENVIRONMENT } from './harness/tools.ts';

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function run(command: string, args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env: TOOL_ENVIRONMENT, cwd: folder });
  return { status, output: stdout + stderr };
}

/** Writes the block of docs/operations.md in this language into a file, with a certificate of the test's own for those that it names. */
function configurationFor(language: string): string {
  const block = blocksOf({ path: 'docs/operations.md', text: read('docs/operations.md') }).find((each) => each.language === language);
  const [key, cert, both, file] = ['key.pem', 'cert.pem', 'both.pem', language].map((name) => join(folder, name)) as [string, string, string, string];
  const request = ['req', '-x509', '-newkey', 'ed25519', '-nodes', '-subj', '/CN=dns.example', '-keyout', key, '-out', cert];
  expect(run('openssl', request).status).toBe(0);
  writeFileSync(both, readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
  const text = block?.content
    .replaceAll('/etc/nginx/tls/chain.pem', cert)
    .replaceAll('/etc/nginx/tls/key.pem', key)
    .replaceAll('/etc/haproxy/tls/dns.example.pem', both);
  writeFileSync(file, text ?? '');
  return file;
}

const openssl = hasProgram('openssl', 'openssl');

describe('the proxies of docs/operations.md', () => {
  test.runIf(openssl && hasProgram('nginx', 'nginx'))('nginx takes its configuration', () => {
    const { status, output } = run('nginx', ['-t', '-c', configurationFor('nginx'), '-g', `pid ${join(folder, 'nginx.pid')};`]);
    expect(output).toContain('test is successful');
    expect(output).not.toContain('[warn]');
    expect(status).toBe(0);
  });

  test.runIf(openssl && hasProgram('haproxy', 'haproxy'))('HAProxy takes its configuration, without a warning', () => {
    expect(run('haproxy', ['-c', '-dW', '-f', configurationFor('haproxy')])).toMatchObject({ status: 0 });
  });
});

describe.each(['tsigil.service', 'tsigil@.service'])('deploy/%s', (unit) => {
  test.runIf(hasProgram('systemd-analyze', 'systemd'))('is a unit that systemd understands', () => {
    const text = read(`deploy/${unit}`)
      .replace('/usr/bin/node /opt/tsigil', `${process.execPath} ${ROOT}`)
      .replace(/^User=.*$/m, 'User=root');
    writeFileSync(join(folder, unit), text);
    const { status, output } = run('systemd-analyze', ['verify', join(folder, unit)]);
    expect(output.split('\n').filter((line) => line.includes(unit))).toEqual([]);
    expect(status).toBe(0);
  });

  test('gives the service more time to stop than it takes, and names real settings', () => {
    const grace = OPTIONS.find(({ key }) => key === 'stopGraceSeconds')?.default;
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(read(`deploy/${unit}`))?.[1])).toBeGreaterThan(Number(grace));
    expectSettings(read(`deploy/${unit}`));
  });
});

describe('Containerfile', () => {
  const text = read('Containerfile');

  test('copies what is there, and names real settings', () => {
    const sources = [...text.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
    expect(sources.length).toBeGreaterThan(3);
    expect(sources.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expectSettings(text);
  });

  test('does not run as root', () => {
    const user = text.lastIndexOf('\nUSER 1000\n');
    expect(user).toBeGreaterThan(text.lastIndexOf('\nFROM '));
    expect(user).toBeLessThan(text.indexOf('\nENTRYPOINT '));
  });

  test('its health check passes while the service answers, and fails when it does not', async () => {
    const [command = '', ...args] = JSON.parse(/HEALTHCHECK [^[]+CMD (\[.+\])$/m.exec(text)?.[1] ?? '[]') as string[];
    expect(command).toBe('node');
    const service = await startTestService();
    onTestFinished(() => service.close());
    const check = (host: string) => runCheck(args.map((arg) => arg.replace('127.0.0.1:9001', host)));
    expect(await check(new URL(service.url).host)).toBe(0);
    expect(await check('127.0.0.1:1')).toBe(1);
  });
});

/** Runs Node.js while this process goes on, for it is this process that must answer. */
function runCheck(args: readonly string[]): Promise<number | null> {
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  return new Promise((resolve) => child.once('exit', resolve));
}

/** Expects every variable of the service in `text` to be one that it reads. */
function expectSettings(text: string): void {
  const variables = OPTIONS.map(variableOf);
  const named = [...text.matchAll(/\bTSIGIL_[A-Z_]*[A-Z]/g)].map(([name]) => name);
  expect(named.filter((name) => !variables.includes(name))).toEqual([]);
}
