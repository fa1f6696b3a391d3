import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './connections.ts';
import { recordSecret } from './evidence.ts';
import { afterTests, endWithTests } from './leftovers.ts';
import { startAgainIfFailed, whenReady } from './starts.ts';

/**
 * The scope of a token: a project by its name, the default domain, the whole system, or no scope.
 */
export type TokenScope = { readonly project: string } | 'domain' | 'system' | 'nothing';

/** A real Keystone on a free port, with its data in a temporary folder. */
export interface Keystone {
  readonly url: string;
  /**
   * Starts Keystone again with the same data on the same port. New tokens are valid for
   * `tokenSeconds`.
   */
  start(tokenSeconds?: number): Promise<void>;
  stop(): Promise<void>;
  /** Creates a project and returns its id. */
  createProject(name: string): Promise<string>;
  createRole(name: string): Promise<void>;
  /**
   * Creates a user of the default domain with a role and returns the password. If the user exists,
   * assigns the role to this user.
   */
  createUser(name: string, role: string, scope: TokenScope): Promise<string>;
  /**
   * Issues a token for a user that `createUser` created, or for the first administrator, `admin`.
   */
  token(user: string, scope: TokenScope): Promise<string>;
  revoke(token: string): Promise<void>;
  /**
   * Creates an application credential of a user for a project. Without access rules, it permits all
   * requests.
   */
  createApplicationCredential(
    user: string,
    project: string,
    accessRules?: object[],
  ): Promise<{ id: string; secret: string }>;
  tokenOfApplicationCredential(id: string, secret: string): Promise<string>;
  /** Makes `url` the only endpoint of this service type in the catalogue, in the region `test`. */
  publish(type: string, url: string): Promise<void>;
}

const DEFAULT_DOMAIN = 'default';
const run = promisify(execFile);

/**
 * Creates and starts a Keystone with a SQLite database, Fernet keys and a first administrator.
 * Tokens are valid for `tokenSeconds`.
 */
export async function startKeystone(tokenSeconds?: number): Promise<Keystone> {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-keystone-'));
  const passwords = new Map([['admin', newPassword()]]);
  const users = new Map<string, string>();
  writeFileSync(join(folder, 'keystone.conf'), configuration(folder, 1));
  const manage = (...words: string[]) =>
    run('keystone-manage', ['--config-file', join(folder, 'keystone.conf'), ...words]);
  const owner = [
    '--keystone-user',
    String(process.getuid?.()),
    '--keystone-group',
    String(process.getgid?.()),
  ];
  await Promise.all([manage('db_sync'), manage('fernet_setup', ...owner)]);
  await manage(
    'bootstrap',
    '--bootstrap-password',
    passwords.get('admin') ?? '',
    '--bootstrap-region-id',
    'test',
  );

  let complaints = '';
  let port = 0;
  let server: ChildProcess | undefined;
  let adminToken: string | undefined;
  const url = () => `http://127.0.0.1:${port}`;

  const startOnce = async (tokenSeconds = 3600) => {
    writeFileSync(join(folder, 'keystone.conf'), configuration(folder, tokenSeconds));
    const script = join(import.meta.dirname, 'keystone.py');
    const child = endWithTests(spawn('/usr/bin/python3', [script, folder, String(port)]));
    complaints = '';
    child.stderr.on('data', (text: Buffer) => (complaints += text.toString()));
    const keystone = { name: 'Keystone', child, output: () => complaints };
    await whenReady(keystone, once(child.stdout, 'data'));
    server = child;
    adminToken = undefined;
  };
  const start = (seconds?: number) => startAgainIfFailed('Keystone', () => startOnce(seconds));
  const stop = async () => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    await ended;
  };
  const request = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: object,
  ) => {
    const response = await fetch(`${url()}/v3${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(
        `Keystone returned ${response.status} to ${method} ${path}: ${text} ${complaints}`,
      );

    return { headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
  const logIn = async (auth: object) => {
    const { headers } = await request('POST', '/auth/tokens', {}, { auth });
    const issued = headers.get('x-subject-token') ?? '';
    recordSecret(issued);
    return issued;
  };
  const token: Keystone['token'] = (user, scope) => {
    const password = {
      user: { name: user, password: passwords.get(user), domain: { id: DEFAULT_DOMAIN } },
    };
    return logIn({ identity: { methods: ['password'], password }, ...describeScope(scope) });
  };
  const asAdmin = async (
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ) => {
    adminToken ??= await token('admin', { project: 'admin' });
    return request(method, path, { 'x-auth-token': adminToken, ...headers }, body);
  };
  const ids = new Map<string, string>();
  const idOf = async (collection: string, name: string): Promise<string> => {
    const key = `${collection} ${name}`;
    const id =
      ids.get(key) ?? (await asAdmin('GET', `/${collection}?name=${name}`)).body[collection][0].id;
    ids.set(key, id);
    return id;
  };

  afterTests(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await startAgainIfFailed('Keystone', async () => {
    port = await freePort();
    await startOnce(tokenSeconds);
  });
  return {
    url: url(),
    start,
    stop,
    async createProject(name) {
      const { body } = await asAdmin('POST', '/projects', {
        project: { name, domain_id: DEFAULT_DOMAIN },
      });
      return body.project.id;
    },
    async createRole(name) {
      await asAdmin('POST', '/roles', { role: { name } });
    },
    async createUser(name, role, scope) {
      const password = passwords.get(name) ?? newPassword();
      if (!users.has(name)) {
        const { body } = await asAdmin('POST', '/users', {
          user: { name, password, domain_id: DEFAULT_DOMAIN },
        });
        users.set(name, body.user.id);
        passwords.set(name, password);
      }
      const target =
        typeof scope === 'object'
          ? `/projects/${await idOf('projects', scope.project)}`
          : TARGETS[scope];
      await asAdmin('PUT', `${target}/users/${users.get(name)}/roles/${await idOf('roles', role)}`);
      return password;
    },
    token,
    tokenOfApplicationCredential: (id, secret) =>
      logIn({
        identity: { methods: ['application_credential'], application_credential: { id, secret } },
      }),
    async revoke(subject) {
      await asAdmin('DELETE', '/auth/tokens', undefined, { 'x-subject-token': subject });
    },
    async publish(type, url) {
      const { body: known } = await asAdmin('GET', `/services?type=${type}`);
      const id =
        known.services[0]?.id ??
        (await asAdmin('POST', '/services', { service: { type, name: type } })).body.service.id;
      const { body: former } = await asAdmin('GET', `/endpoints?service_id=${id}`);
      for (const endpoint of former.endpoints) await asAdmin('DELETE', `/endpoints/${endpoint.id}`);
      await asAdmin('POST', '/endpoints', {
        endpoint: { service_id: id, interface: 'public', region_id: 'test', url },
      });
    },
    async createApplicationCredential(user, project, accessRules) {
      const own = { 'x-auth-token': await token(user, { project }) };
      const path = `/users/${users.get(user)}/application_credentials`;
      const { body } = await request('POST', path, own, {
        application_credential: { name: randomUUID(), access_rules: accessRules },
      });
      recordSecret(body.application_credential.secret);
      return body.application_credential;
    },
  };
}

/** The Keystone paths that assign roles, by scope. */
const TARGETS = { domain: `/domains/${DEFAULT_DOMAIN}`, system: '/system', nothing: '/nowhere' };

function describeScope(scope: TokenScope): object {
  if (scope === 'nothing') return { scope: 'unscoped' };
  if (scope === 'system') return { scope: { system: { all: true } } };
  if (scope === 'domain') return { scope: { domain: { id: DEFAULT_DOMAIN } } };
  return { scope: { project: { name: scope.project, domain: { id: DEFAULT_DOMAIN } } } };
}

function newPassword(): string {
  const password = randomUUID();
  recordSecret(password);
  return password;
}

/**
 * Returns a configuration with all files in one folder. It uses the fastest password hashes. It
 * disables the cache, because the cache would hide revocations.
 */
function configuration(folder: string, tokenSeconds: number): string {
  return `[DEFAULT]
log_file = ${folder}/keystone.log
[database]
connection = sqlite:///${folder}/keystone.db
[token]
provider = fernet
expiration = ${tokenSeconds}
allow_expired_window = 0
[fernet_tokens]
key_repository = ${folder}/fernet
[auth]
methods = password,token,application_credential
[cache]
enabled = true
backend = dogpile.cache.memory_pickle
[identity]
password_hash_rounds = 4
`;
}
