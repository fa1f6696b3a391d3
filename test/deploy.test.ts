import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../src/config/config.ts';
import { fileVariableOf, variableOf } from '../src/config/option.ts';
import { OPTIONS } from '../src/config/options.ts';
import { blocksOf, ROOT } from './docs/documents.ts';
import { createAuthority } from './harness/certificates.ts';
import { hasChromium, openConsole, signInOn, startChromium } from './harness/chromium.ts';
import { accepts, freePort } from './harness/connections.ts';
import { endWithTests } from './harness/leftovers.ts';
import { startTestService, temporaryFolder } from './harness/service.ts';
import { IS_LONG } from './harness/sizes.ts';
import { startAgainIfFailed, untilTrue, whenReady } from './harness/starts.ts';
import { hasProgram, TOOL_ENVIRONMENT } from './harness/tools.ts';

const folder = temporaryFolder();

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function run(command: string, args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    env: TOOL_ENVIRONMENT,
    cwd: folder,
  });
  return { status, output: stdout + stderr };
}

/**
 * Writes the code block of docs/replicas.md in this language to a file. Replaces the certificates
 * with a test certificate. Returns the path of the file.
 */
function configurationFor(language: string): string {
  const block = blocksOf({ path: 'docs/replicas.md', text: read('docs/replicas.md') }).find(
    (each) => each.language === language,
  );
  const cert = createAuthority(folder, 'dns.example');
  const key = join(folder, 'dns.example.key');
  const [both, file] = [join(folder, 'both.pem'), join(folder, language)];
  writeFileSync(both, readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
  const text = block?.content
    .replaceAll('/etc/nginx/tls/chain.pem', cert)
    .replaceAll('/etc/nginx/tls/key.pem', key)
    .replaceAll('/etc/haproxy/tls/dns.example.pem', both);
  writeFileSync(file, text ?? '');
  return file;
}

const openssl = hasProgram('openssl', 'openssl');

describe('deploy/debian/postinst', () => {
  /**
   * Runs the script with fake programs that only log their arguments. Returns the logged calls of
   * deb-systemd-invoke.
   */
  function postinst(...parameters: string[]): string[] {
    const log = join(folder, 'calls');
    writeFileSync(log, '');
    const programs = {
      systemctl: '',
      'deb-systemd-invoke': 'cat',
      'deb-systemd-helper': '',
      'systemd-sysusers': '',
      'systemd-tmpfiles': '',
    };
    for (const [name, body] of Object.entries(programs))
      writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $*" >>'${log}'\n${body}\n`, {
        mode: 0o755,
      });
    const units = join(folder, 'units');
    rmSync(units, { recursive: true, force: true });
    mkdirSync(units);
    for (const unit of ['tsigil-agent', 'tsigil@9001', 'tsigil@9002'])
      symlinkSync('0123456789abcdef', join(units, `invocation:${unit}.service`));
    const script = read('deploy/debian/postinst')
      .replaceAll('/run/systemd/system', folder)
      .replaceAll('/run/systemd/units', units);
    const { status } = spawnSync('sh', ['-c', script, 'postinst', ...parameters], {
      env: { ...TOOL_ENVIRONMENT, PATH: `${folder}:${process.env.PATH}` },
      input: 'input of dpkg',
    });
    expect(status).toBe(0);
    return readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('deb-systemd-invoke'));
  }

  test('an upgrade restarts tsigil.service, the agent and each running instance of tsigil@.service', () => {
    expect(postinst('configure', '0.0.9')).toEqual([
      'deb-systemd-invoke restart tsigil.service',
      'deb-systemd-invoke restart tsigil-agent.service',
      'deb-systemd-invoke restart tsigil@9001.service',
      'deb-systemd-invoke restart tsigil@9002.service',
    ]);
  });

  test('an installation starts tsigil.service only', () => {
    expect(postinst('configure')).toEqual(['deb-systemd-invoke start tsigil.service']);
  });
});

describe('the proxies of docs/replicas.md', () => {
  /** Starts a proxy with its configuration, in front of one service. Returns its URL. */
  function startProxy(name: 'nginx' | 'haproxy', service: string): Promise<string> {
    return startAgainIfFailed(name, async () => startProxyOn(await freePort(), name, service));
  }

  async function startProxyOn(
    port: number,
    name: 'nginx' | 'haproxy',
    service: string,
  ): Promise<string> {
    const file = configurationFor(name);
    const text = readFileSync(file, 'utf8')
      .replaceAll(/192\.0\.2\.\d+:9001/g, new URL(service).host)
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace('bind :443', `bind 127.0.0.1:${port}`)
      .replace('/run/haproxy-admin.sock', join(folder, 'haproxy.sock'));
    writeFileSync(file, text);
    const settings = `daemon off; master_process off; error_log stderr; pid ${join(folder, 'nginx.pid')};`;
    const args = name === 'nginx' ? ['-c', file, '-g', settings] : ['-db', '-f', file];
    const child = endWithTests(
      spawn(name, args, { stdio: ['ignore', 'ignore', 'pipe'], env: TOOL_ENVIRONMENT }),
    );
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    const proxy = { name, child, output: () => output };
    await whenReady(
      proxy,
      untilTrue(proxy, () => accepts({ host: '127.0.0.1', port })),
    );
    return `https://127.0.0.1:${port}`;
  }

  const canSignIn = IS_LONG && openssl && hasChromium();
  for (const name of ['nginx', 'haproxy'] as const)
    test.runIf(canSignIn && hasProgram(name, name))(
      `the console works behind ${name} with TLS, with a cookie for this host only`,
      async () => {
        const service = await startTestService({ TSIGIL_API_TRUST_PROXY_HEADERS: 'true' });
        const url = await startProxy(name, service.url);
        const browser = await startChromium();
        const opened = await openConsole(browser, { url }, { ignoreHTTPSErrors: true });
        const reach = () =>
          opened.page.goto(`${url}/`).then(
            (answer) => answer?.status(),
            () => 0,
          );
        await expect.poll(reach, { timeout: 120_000 }).toBe(200);
        expect(opened.page.url()).toBe(`${url}/console/`);
        const { cookies } = await signInOn(opened, service.token);
        expect(cookies).toMatchObject([
          { name: '__Host-tsigil', secure: true, httpOnly: true, sameSite: 'Strict', path: '/' },
        ]);
        expect(opened.complaints).toEqual([]);
      },
    );
});

const UNITS = ['tsigil.service', 'tsigil@.service', 'tsigil-agent.service'];
const systemd = IS_LONG && hasProgram('systemd-analyze', 'systemd');

describe.each(UNITS)('deploy/%s', (unit) => {
  const text = read(`deploy/${unit}`);

  test.runIf(systemd)('is a valid systemd unit', () => {
    expectValid(unit, text);
  });

  test('disables core dumps and privileges, and sets no variable with a secret', () => {
    for (const line of ['LimitCORE=0', 'NoNewPrivileges=yes', 'SystemCallErrorNumber=EPERM'])
      expect(text.split('\n')).toContain(line);
    expect(text).toMatch(/^User=tsigil/m);
    const secrets = OPTIONS.filter(({ secret }) => secret).map(variableOf);
    for (const variable of secrets) expect(text).not.toMatch(new RegExp(`\\b${variable}\\b`));
  });

  test.runIf(systemd)(
    'hides /proc, leaves no IPC objects and may not change resources, at an exposure below 2',
    () => {
      writeFileSync(join(folder, unit), text);
      const { output } = run('systemd-analyze', ['security', '--offline=yes', join(folder, unit)]);
      const granted = output.split('\n').filter((line) => line.startsWith('✓'));
      for (const name of ['RemoveIPC=', 'ProcSubset=', 'SystemCallFilter=~@resources'])
        expect(granted.filter((line) => line.startsWith(`✓ ${name} `))).toHaveLength(1);
      expect(Number(/Overall exposure level for .*: ([\d.]+)/.exec(output)?.[1])).toBeLessThan(2);
    },
  );
});

test.runIf(systemd).each(['tsigil.service', 'tsigil@.service'])(
  'deploy/%s is valid with all credentials enabled, and each variable names a credential',
  (unit) => {
    const enabled = read(`deploy/${unit}`).replaceAll(/^#(?=LoadCredential=|Environment=)/gm, '');
    const credentials = [
      ...enabled.matchAll(/^LoadCredential=([\w-]+):\/etc\/tsigil\/credentials\/\1$/gm),
    ].map(([, name]) => name);
    const named = [...enabled.matchAll(/^Environment=(\w+_FILE)=%d\/([\w-]+)$/gm)];
    expect(credentials.length).toBeGreaterThan(2);
    const found = OPTIONS.flatMap(({ credential = [] }) => credential); // without a variable
    expect([...found, ...named.map(([, , name]) => name)].sort()).toEqual(credentials.sort());
    expect(OPTIONS.map(fileVariableOf)).toEqual(
      expect.arrayContaining(named.map(([, variable]) => variable)),
    );
    expectValid(unit, enabled);
  },
);

test.each([
  ['tsigil.service', /^TimeoutStopSec=(\d+)$/m, 0],
  ['tsigil@.service', /^TimeoutStopSec=(\d+)$/m, 0],
  ['compose.yaml', /^ +stop_grace_period: (\d+)s$/m, 0],
  ['compose-postgres.yaml', /^ +stop_grace_period: (\d+)s$/m, 0],
  ['kubernetes.yaml', /^ +terminationGracePeriodSeconds: (\d+)$/m, 5], // its preStop pause
  ['../Containerfile', undefined, 0],
])('deploy/%s names only settings, and lets a stop take its time', (name, limit, pauseSeconds) => {
  const text = read(`deploy/${name}`).replaceAll(/^ *#.*$/gm, '');
  const variables = OPTIONS.flatMap((option) => [variableOf(option), fileVariableOf(option)]);
  const named = [...text.matchAll(/\bTSIGIL_[A-Z_]*[A-Z]/g)].map(([variable]) => variable);
  expect(named.filter((variable) => !variables.includes(variable))).toEqual([]);
  if (limit === undefined) return;
  const grace = Number(OPTIONS.find(({ key }) => key === 'stopGraceSeconds')?.default);
  expect(Number(limit.exec(text)?.[1])).toBeGreaterThan(grace + pauseSeconds);
});

describe('deploy/prometheus-alerts.yml', () => {
  test('has the rules of every folder', () => {
    const alertsOf = (path: string) => read(path).match(/^ *- alert: \w+$/gm) ?? [];
    const fragments = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('/alerts.yml'))
      .flatMap((path) => alertsOf(`src/${path}`));
    expect(alertsOf('deploy/prometheus-alerts.yml')).toHaveLength(fragments.length);
  });

  test.runIf(IS_LONG && hasProgram('promtool', 'prometheus'))(
    'fires for each fault, and not for a healthy service',
    () => {
      const deploy = (name: string) => join(ROOT, 'deploy', name);
      expect(run('promtool', ['check', 'rules', deploy('prometheus-alerts.yml')])).toMatchObject({
        status: 0,
      });
      const { status, output } = run('promtool', [
        'test',
        'rules',
        deploy('prometheus-alerts.test.yml'),
      ]);
      expect(output).toContain('SUCCESS');
      expect(status).toBe(0);
    },
  );
});

describe('deploy/grafana-dashboard.json', () => {
  const { panels } = JSON.parse(read('deploy/grafana-dashboard.json')) as {
    readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
  };
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

  test('the dashboard and the alerts name only metrics of the service, and the dashboard shows all', async () => {
    const service = await startTestService();
    const { text } = await service.get('/metrics');
    const metrics = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name);
    const namesIn = (all: string) =>
      [...all.matchAll(/\b(?:tsigil|http|process|nodejs)_\w+/g)].map(([name]) =>
        metrics.includes(name) ? name : name.replace(/_(?:bucket|count|sum)$/, ''),
      );
    const shown = namesIn(expressions.join());
    const all = [...shown, ...namesIn(read('deploy/prometheus-alerts.yml'))];
    expect(all.filter((name) => !metrics.includes(name))).toEqual([]);
    const own = metrics.filter(
      (name) => name.startsWith('tsigil_') && name !== 'tsigil_build_info',
    );
    expect(own.filter((name) => !shown.includes(name))).toEqual([]);
  });

  test.runIf(IS_LONG && hasProgram('promtool', 'prometheus'))('has valid queries', () => {
    const rules = expressions.map((expr, index) => ({
      record: `panel:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*'),
    }));
    const file = join(folder, 'panels.json');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
    expect(run('promtool', ['check', 'rules', file])).toMatchObject({ status: 0 });
  });
});

describe.each(['compose.yaml', 'compose-postgres.yaml'])('deploy/%s', (name) => {
  const text = read(`deploy/${name}`);
  const { services, secrets = {} } = parse(text) as {
    services: Record<string, Record<string, unknown>>;
    secrets?: Record<string, { file: string }>;
  };
  const tsigil = services.tsigil ?? {};

  test('builds the Containerfile, and publishes its port on loopback only', () => {
    const { context, dockerfile } = tsigil.build as Record<string, string>;
    expect(existsSync(join(ROOT, 'deploy', context ?? '', dockerfile ?? ''))).toBe(true);
    expect(tsigil.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:9001(?:-9009)?:9001$/)]);
  });

  test('passes secrets as files', () => {
    expect(text).not.toMatch(/\b(?:PASSWORD|TOKEN): /);
    const used = Object.values(services).flatMap((each) => (each.secrets ?? []) as string[]);
    expect([...new Set(used)].sort()).toEqual(Object.keys(secrets).sort());
  });
});

describe('deploy/kubernetes.yaml', () => {
  const text = read('deploy/kubernetes.yaml');
  const documents = parseAllDocuments(text).map((document) => document.toJS());
  const kind = (wanted: string) => documents.find((each) => each.kind === wanted);
  const pod = kind('Deployment').spec.template;
  const [container] = pod.spec.containers;

  test('has a configuration that the service reads', () => {
    const path = join(folder, 'tsigil.yaml');
    writeFileSync(path, kind('ConfigMap').data['tsigil.yaml']);
    expect(readConfig(path, {}).stopGraceSeconds).toBe(20);
  });

  test('has probes to which the service responds, and the port and the user of the image', async () => {
    const service = await startTestService();
    for (const probe of [container.readinessProbe, container.livenessProbe])
      expect((await service.get(probe.httpGet.path)).status).toBe(200);
    const containerfile = read('Containerfile');
    expect(containerfile).toContain(`EXPOSE ${container.ports[0].containerPort}\n`);
    expect(containerfile).toContain(`USER ${pod.spec.securityContext.runAsUser}\n`);
  });

  test('mounts no token, and has selectors that match the labels of the pods', () => {
    expect(pod.spec.automountServiceAccountToken).toBe(false);
    const { labels } = pod.metadata;
    expect(kind('Deployment').spec.selector.matchLabels).toEqual(labels);
    expect(kind('Service').spec.selector).toEqual(labels);
    expect(kind('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels);
  });
});

describe('Containerfile', () => {
  const text = read('Containerfile');

  test('does not run as root', () => {
    const user = text.lastIndexOf('\nUSER 1000\n');
    expect(user).toBeGreaterThan(text.lastIndexOf('\nFROM '));
    expect(user).toBeLessThan(text.indexOf('\nENTRYPOINT '));
  });

  test('has a health check that passes while the service responds, and fails afterwards', async () => {
    const [command = '', ...args] = JSON.parse(
      /HEALTHCHECK [^[]+CMD (\[.+\])$/m.exec(text)?.[1] ?? '[]',
    ) as string[];
    expect(command).toBe('node');
    const service = await startTestService();
    const check = (host: string) =>
      runCheck(args.map((arg) => arg.replace('127.0.0.1:9001', host)));
    expect(await check(new URL(service.url).host)).toBe(0);
    expect(await check('127.0.0.1:1')).toBe(1);
    if (!openssl) return;
    const cert = createAuthority(folder, 'dns.example'); // not the name of loopback
    const secure = await startTestService({
      TSIGIL_TLS_CERT: cert,
      TSIGIL_TLS_KEY: join(folder, 'dns.example.key'),
    });
    expect(await check(new URL(secure.url).host)).toBe(0);
    await secure.close();
    expect(await check(new URL(secure.url).host)).toBe(1);
  });
});

/**
 * Runs Node.js and returns the exit code. Does not block the event loop, because this process also
 * runs the service.
 */
function runCheck(args: readonly string[]): Promise<number | null> {
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  return new Promise((resolve) => child.once('exit', resolve));
}

/** Expects that systemd reports no problem with a unit. Replaces paths that this machine lacks. */
function expectValid(unit: string, text: string): void {
  const local = text
    .replace('/usr/bin/node /opt/tsigil', `${process.execPath} ${ROOT}`)
    .replace(/^User=.*$/m, 'User=root');
  writeFileSync(join(folder, unit), local);
  const { status, output } = run('systemd-analyze', ['verify', join(folder, unit)]);
  expect(output.split('\n').filter((line) => line.includes(unit))).toEqual([]);
  expect(status).toBe(0);
}
