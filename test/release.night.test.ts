import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ROOT } from './docs/documents.ts';
import { cleanEnvironment, temporaryFolder } from './harness/service.ts';
import { hasProgram, isMet, TOOL_ENVIRONMENT } from './harness/tools.ts';

const folder = temporaryFolder();
const release = join(folder, 'release');
const VERSION = (
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
).version;
/** The time of the commit: 2026-09-21 14:13:20 UTC. */
const TIME = '1790000000';

const debian = hasProgram('dpkg-deb', 'dpkg') && hasProgram('lintian', 'lintian');
/** The package manager and chroot need root. */
const root = isMet(() => process.getuid?.() === 0, {
  name: 'root',
  absence: 'The tests of the .deb need root',
  command: 'run npm run test:night as root',
});

beforeAll(() => {
  run('node', ['scripts/release.mjs', release], ROOT, { SOURCE_DATE_EPOCH: TIME });
}, 300_000);

test('the release has an npm package, two Debian packages, the build context, the SBOM and the checksums', () => {
  expect(readdirSync(release).sort()).toEqual([
    'SHA256SUMS',
    `tsigil-${VERSION}-container.tar.gz`,
    `tsigil-${VERSION}.cdx.json`,
    `tsigil-${VERSION}.tgz`,
    `tsigil_${VERSION}_amd64.deb`,
    `tsigil_${VERSION}_arm64.deb`,
  ]);
  expect(run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], release)).toContain('deb: OK');
});

test(
  'a release from another checkout of the same files, with a tsigil.yaml, has the same checksums',
  { timeout: 300_000 },
  () => {
    const copy = join(folder, 'copy');
    mkdirSync(copy);
    const list = 'git ls-files -z --cached --others --exclude-standard --deduplicate';
    const pack = 'tar --null --ignore-failed-read -T - -cf -';
    run('sh', ['-c', `${list} | ${pack} | tar -xf - -C "$1"`, 'sh', copy], ROOT);
    // The names of built files depend on where packages are, so a link would not do.
    const packages = [join(ROOT, 'node_modules'), join(copy, 'node_modules')];
    run('sh', ['-c', 'cp -al "$@" 2>/dev/null || cp -a "$@"', 'sh', ...packages], ROOT);
    const config = join(copy, 'tsigil.yaml');
    writeFileSync(config, 'notASetting: true\n');
    const target = join(copy, 'release');
    const variables = { SOURCE_DATE_EPOCH: TIME, TSIGIL_CONFIG: config };
    run('node', ['scripts/release.mjs', target], copy, variables);
    expect(readFileSync(join(target, 'SHA256SUMS'), 'utf8')).toBe(
      readFileSync(join(release, 'SHA256SUMS'), 'utf8'),
    );
  },
);

describe('the npm package', () => {
  test('contains the program and the manual page, but no sources and no tests', () => {
    const archive = run('tar', ['-tf', join(release, `tsigil-${VERSION}.tgz`)], folder);
    const paths = archive.trimEnd().split('\n');
    expect(paths.filter((path) => !path.startsWith('package/dist/')).sort()).toEqual([
      'package/CHANGELOG.md',
      'package/LICENSE',
      'package/README.md',
      'package/SECURITY.md',
      'package/docs/tsigil.1',
      'package/package.json',
    ]);
    const program = paths.filter((path) => path.startsWith('package/dist/'));
    expect(program.filter((path) => !path.endsWith('.js'))).toEqual([]);
  });

  test(
    'is installed by npm without a warning about versions, with the manual page and the command',
    { timeout: 300_000 },
    async () => {
      const prefix = join(folder, 'prefix');
      const flags = ['--global', `--prefix=${prefix}`, '--prefer-offline', '--no-audit'];
      const file = join(release, `tsigil-${VERSION}.tgz`);
      const { status, stderr } = spawnSync('npm', ['install', ...flags, file], {
        encoding: 'utf8',
        cwd: folder,
      });
      expect({ status, warnings: stderr.match(/^.*(?:EBADENGINE|deprecated|ERR!).*$/gm) }).toEqual({
        status: 0,
        warnings: null,
      });
      expect(run(join(prefix, 'bin/tsigil'), ['--version'], folder)).toBe(`${VERSION}\n`);
      const page = join(prefix, 'share/man/man1/tsigil.1');
      expect(run('man', ['-l', page], folder, { MANWIDTH: '80' })).toContain('TSIGIL(1)');
      expect(await start(join(prefix, 'bin/tsigil'), ['serve'])).toContain('"msg":"listening"');
    },
  );
});

describe.runIf(debian)('the packages for Debian', () => {
  const CPUS = { amd64: 'x64', arm64: 'arm64' };
  const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;
  const fileOf = (architecture = ARCHITECTURE) => `tsigil_${VERSION}_${architecture}.deb`;

  test('cause no messages from lintian', { timeout: 600_000 }, () => {
    // That of the other architecture differs only in its binaries, and takes as long again.
    const flags = ['--allow-root', '--fail-on=error,warning'];
    expect(run('lintian', [...flags, fileOf()], release)).toBe('');
  });

  test('contain only the SQLite binary for their architecture', () => {
    for (const [architecture, cpu] of Object.entries(CPUS)) {
      const list = run('dpkg-deb', ['-c', fileOf(architecture)], release);
      const compiled = [...list.matchAll(/\/prebuilds\/(\S+\.node)$/gm)].map(([, path]) => path);
      expect(compiled).toEqual([`linux-${cpu}/@photostructure+sqlite.glibc.node`]);
    }
  });

  describe.runIf(root && hasProgram('systemd-sysusers', 'systemd'))('installed on Debian', () => {
    const target = join(folder, 'root');
    const dpkg = (...parameters: string[]) =>
      run(
        'dpkg',
        [`--root=${target}`, '--force-script-chrootless', '--log=/dev/null', ...parameters],
        release,
      );
    const modeOf = (path: string) => {
      const { mode, uid } = statSync(join(target, path));
      return { mode: (mode & 0o777).toString(8), uid };
    };
    const serviceUser = () =>
      Number(/^tsigil:x:(\d+):/m.exec(readFileSync(join(target, 'etc/passwd'), 'utf8'))?.[1]);
    /** Returns the program and the arguments that start a unit as its user. */
    const unitCommand = (unit: string): string[] => {
      const text = readFileSync(join(target, 'usr/lib/systemd/system', unit), 'utf8');
      const user = `${/^User=(.*)$/m.exec(text)?.[1]}:tsigil`;
      const command = /^ExecStart=(.*)$/m.exec(text)?.[1]?.split(' ') ?? [];
      return [`--userspec=${user}`, target, ...command];
    };
    /** Runs a shell command in the root as a user with this id. */
    const shell = (command: string, user = 0) =>
      spawnSync(
        '/usr/sbin/chroot',
        [`--userspec=${user}:${user}`, target, '/bin/sh', '-c', command],
        {
          encoding: 'utf8',
          env: { PATH: '/usr/bin', HOME: '/home/ada', USER: 'ada' },
        },
      );

    let installation = '';

    beforeAll(() => {
      mkdirSync(join(target, 'var/lib/dpkg'), { recursive: true });
      mkdirSync(join(target, 'etc'));
      const installed = {
        libc6: '2.36-9+deb12u13',
        'libgcc-s1': '12.2.0-14+deb12u1',
        'libstdc++6': '12.2.0-14+deb12u1',
        nodejs: '18.20.4+dfsg-1~deb12u1',
        systemd: '252.39-1~deb12u1',
      };
      const entries = Object.entries(installed).map(
        ([name, version]) =>
          `Package: ${name}\nStatus: install ok installed\nArchitecture: ${ARCHITECTURE}\nVersion: ${version}\nMaintainer: Debian\nDescription: of Debian 12\n`,
      );
      const status = join(target, 'var/lib/dpkg/status');
      writeFileSync(status, entries.join('\n'));
      expect(() => dpkg('--install', fileOf())).toThrow(
        'tsigil depends on nodejs (>= 20.19); however:\n  Version of nodejs on system is 18.20.4',
      );
      dpkg('--purge', 'tsigil');
      const newer = readFileSync(status, 'utf8').replace(
        '18.20.4+dfsg-1~deb12u1',
        '20.19.2+dfsg-1',
      );
      writeFileSync(status, newer);
      installation = dpkg('--install', fileOf());
      symlinkSync('usr/bin', join(target, 'bin'));
      copyWithLibraries(target, ['/bin/sh', process.execPath]);
      writeFileSync(join(target, 'usr/bin/sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
    }, 120_000);

    test('creates the user and its folders, which other users cannot read, and enables the unit', () => {
      const passwd = readFileSync(join(target, 'etc/passwd'), 'utf8');
      expect(passwd).toMatch(/^tsigil:x:\d+:\d+:.*:\/var\/lib\/tsigil:\/usr\/sbin\/nologin$/m);
      expect(modeOf('var/lib/tsigil')).toEqual({ mode: '700', uid: serviceUser() });
      expect(modeOf('etc/tsigil')).toEqual({ mode: '750', uid: 0 });
      const wants = 'etc/systemd/system/multi-user.target.wants';
      expect(readdirSync(join(target, wants))).toEqual(['tsigil.service']);
    });

    test('has a unit that starts the service as its user', async () => {
      const output = await start('chroot', unitCommand('tsigil.service'), '/');
      expect(output).toContain('Token: /var/lib/tsigil/admin.token. ');
      expect(modeOf('var/lib/tsigil/admin.token')).toEqual({ mode: '600', uid: serviceUser() });
      expect(modeOf('var/lib/tsigil/tsigil.db').uid).toBe(serviceUser());
    });

    test('root finds the service, other users are told how to sign in, and the commands that the installation prints work', async () => {
      await start('chroot', unitCommand('tsigil.service'), '/', (url) => {
        const variables = `TSIGIL_LISTEN=${new URL(url).host}\n`;
        writeFileSync(join(target, 'etc/tsigil/environment'), variables);
        const commands = [...installation.matchAll(/^ {2,}(\S.*)$/gm)].map(([, line]) => line);
        const [create = '', ...signIn] = commands.slice(-3);
        expect(shell(create)).toMatchObject({ status: 0 });
        expect(shell('tsigil tsigkey list -f value -c name').stdout).toBe('transfer-key\n');

        const other = shell('tsigil tsigkey list', 65_534);
        expect(other.status).toBe(3);
        expect(other.stderr).toBe(
          "tsigil: No token: '/var/lib/tsigil/admin.token' cannot be read: permission denied\n" +
            "Run this command with sudo, or sign in with a token of your own: 'sudo tsigil token create' creates one, and 'tsigil login' stores it.\n",
        );
        const own = signIn.join(' ').replace('http://127.0.0.1:9001', url);
        expect(shell(own)).toMatchObject({ status: 0 });
        rmSync(join(target, 'var/lib/tsigil/admin.token'));
        expect(shell('tsigil whoami -f value -c name').stdout).toBe('ada\n');
      });
    });

    test('has a unit for the agent', () => {
      const [, , ...command] = unitCommand('tsigil-agent.service');
      const home = join(target, 'etc/tsigil-agent');
      mkdirSync(home);
      for (const name of ['token', 'api-key'])
        writeFileSync(join(home, name), 'secret\n', { mode: 0o600 });
      writeFileSync(
        join(home, 'agent.yaml'),
        'url: http://127.0.0.1:1\ntokenFile: /etc/tsigil-agent/token\nnameServer: ns1\ndriver: powerdns\nlocal:\n  url: http://127.0.0.1:1\n  apiKeyFile: /etc/tsigil-agent/api-key\n',
      );
      const { stderr } = shell(`${command.join(' ')} --check`);
      expect(stderr).toContain('nothing listens at the address');
    });

    test('contains the dependencies of the service for PostgreSQL', () => {
      const { stdout, stderr } = spawnSync(
        process.execPath,
        [join(target, 'usr/lib/tsigil/dist/main.js'), 'serve'],
        {
          cwd: folder,
          encoding: 'utf8',
          env: cleanEnvironment({ TSIGIL_DATABASE_URL: 'postgres://t@127.0.0.1:1/t' }),
        },
      );
      expect(stdout + stderr).toContain('nothing listens');
    });

    test('a removal keeps the configuration and the data, and a purge removes both', () => {
      writeFileSync(join(target, 'etc/tsigil/own'), 'of the operator');
      dpkg('--remove', 'tsigil');
      expect(existsSync(join(target, 'usr/bin/tsigil'))).toBe(false);
      expect(existsSync(join(target, 'etc/tsigil/tsigil.yaml'))).toBe(true);
      expect(existsSync(join(target, 'var/lib/tsigil'))).toBe(true);
      dpkg('--purge', 'tsigil');
      expect(readdirSync(join(target, 'etc/tsigil'))).toEqual(['environment', 'own']);
      expect(existsSync(join(target, 'var/lib/tsigil'))).toBe(false);
    });
  });
});

describe('the build context of the container image', () => {
  test(
    'contains what the commands of the Containerfile need to build a program that starts a service',
    { timeout: 300_000 },
    async () => {
      const context = join(folder, `tsigil-${VERSION}-container`);
      run('tar', ['-xf', join(release, `tsigil-${VERSION}-container.tar.gz`)], folder);
      const containerfile = readFileSync(join(context, 'Containerfile'), 'utf8');
      const [build = ''] = containerfile.split(/^FROM (?!.* AS )/m);
      for (const [, command = ''] of build.matchAll(/^RUN (.*)$/gm))
        run('sh', ['-c', command], context);
      expect(await start(process.execPath, [join(context, 'dist/main.js'), 'serve'])).toContain(
        '"msg":"listening"',
      );
      expect(existsSync(join(context, 'node_modules/typescript'))).toBe(false);
    },
  );
});

test('the SBOM lists every dependency with its version, licence and hash', () => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean }>;
  };
  const shipped = Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`);
  const { components } = JSON.parse(
    readFileSync(join(release, `tsigil-${VERSION}.cdx.json`), 'utf8'),
  ) as {
    components: { name: string; version: string; hashes: unknown[]; licenses: unknown[] }[];
  };
  expect(components.map(({ name, version }) => `${name}@${version}`).sort()).toEqual(
    [...new Set(shipped)].sort(),
  );
  expect(
    components.filter(({ hashes, licenses }) => hashes.length === 0 || licenses.length === 0),
  ).toEqual([]);
});

/**
 * Runs a program and returns what it printed. If the program fails, throws an error with its
 * output.
 */
function run(
  program: string,
  parameters: readonly string[],
  cwd: string,
  variables: NodeJS.ProcessEnv = {},
): string {
  const { status, stdout, stderr } = spawnSync(program, parameters, {
    cwd,
    encoding: 'utf8',
    // The packages of the tests may be larger than those that are released.
    env: { ...TOOL_ENVIRONMENT, DPKG_DEB_COMPRESSOR_LEVEL: '0', ...variables },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/** Copies programs to `usr/bin` in `target`, and the libraries that they need to the same paths. */
function copyWithLibraries(target: string, programs: readonly string[]): void {
  const libraries = programs.flatMap((program) =>
    [...run('ldd', [program], folder).matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path),
  );
  for (const path of new Set([...programs, ...libraries])) {
    const place = programs.includes(path) ? `/usr/bin/${path.split('/').at(-1)}` : path;
    mkdirSync(dirname(join(target, place)), { recursive: true });
    copyFileSync(path, join(target, place));
  }
}

/**
 * Starts a service on a free port, expects 200 from /readyz, calls `use` and stops the service.
 * Returns its output.
 */
async function start(
  program: string,
  parameters: string[],
  cwd = temporaryFolder(),
  use?: (url: string) => void,
): Promise<string> {
  const child = spawn(program, parameters, {
    cwd,
    env: cleanEnvironment({ TSIGIL_LISTEN: '127.0.0.1:0', TSIGIL_ADMIN_TOKEN: '' }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    if (cwd !== '/') rmSync(cwd, { recursive: true, force: true });
  });
  const [url, output] = await listening(child);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  use?.(url);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  return output();
}

function listening(child: ChildProcess): Promise<[string, () => string]> {
  let output = '';
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const url = /"url":"([^"]+)".*"msg":"listening"/.exec(output)?.[1];
        if (url !== undefined) resolve([url, () => output]);
      });
    child.once('exit', (code) => reject(new Error(`The service ended with ${code}: ${output}`)));
  });
}
