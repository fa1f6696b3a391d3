import { onTestFinished } from 'vitest';
import { startGateway, type Gateway } from '../harness/gateway.ts';
import { startKeystone, type Keystone } from '../harness/keystone.ts';
import { startTestService, type TestService } from '../harness/service.ts';

/** The names of the two projects. */
export const PROJECTS = ['one', 'two'] as const;

const ROLES = ['admin', 'member', 'reader'] as const;

/**
 * The credentials of a service. Each key is the suffix of an environment variable, such as
 * `USERNAME`.
 */
type Credentials = Readonly<Record<string, string>>;

/**
 * A Keystone with users in two projects, in the system and in a domain. It also has a user for the
 * service.
 */
export interface Cloud {
  readonly keystone: Keystone;
  readonly projectIds: readonly [string, string];
  readonly withPassword: Credentials;
  readonly withApplicationCredential: Credentials;
  /** An expired token of an administrator. */
  readonly expired: string;
  /**
   * Returns the environment of a service that accepts Keystone tokens. `settings` has suffixes of
   * variables as keys. By default, the service signs in with its password.
   */
  variables(
    settings?: Readonly<Record<string, string>>,
    credentials?: Credentials,
  ): Record<string, string>;
  /** Issues a token with a role in a project. The default role is `admin`. */
  issue(role?: (typeof ROLES)[number], project?: (typeof PROJECTS)[number]): Promise<string>;
}

/** Starts a Keystone and creates its users and projects. */
export async function startCloud(): Promise<Cloud> {
  const keystone = await startKeystone(1);
  const expired = await keystone.token('admin', { project: 'admin' });
  await keystone.stop();
  await keystone.start();
  const projectIds = [
    await keystone.createProject('one'),
    await keystone.createProject('two'),
  ] as const;
  await keystone.createProject('services');
  await keystone.createRole('service');
  for (const project of PROJECTS)
    for (const role of ROLES) await keystone.createUser(`${role}-${project}`, role, { project });
  for (const scope of ['system', 'domain'] as const)
    await keystone.createUser(`admin-${scope}`, 'admin', scope);
  await keystone.createUser('reader-system', 'reader', 'system');
  const password = await keystone.createUser('tsigil', 'service', { project: 'services' });
  const withPassword = { USERNAME: 'tsigil', PASSWORD: password, PROJECT: 'services' };
  const { id, secret } = await keystone.createApplicationCredential('tsigil', 'services');
  return {
    keystone,
    projectIds,
    withPassword,
    withApplicationCredential: {
      APPLICATION_CREDENTIAL_ID: id,
      APPLICATION_CREDENTIAL_SECRET: secret,
    },
    expired,
    variables(settings = {}, credentials = withPassword) {
      // With Keystone as the only method, the default status for missing rights is 403. The tests
      // of every method expect 401.
      const all = { URL: keystone.url, TIMEOUT_SECONDS: '30', ...credentials, ...settings };
      const named = Object.entries(all).map(([name, value]): [string, string] => [
        `TSIGIL_AUTH_KEYSTONE_${name}`,
        value,
      ]);
      return {
        TSIGIL_AUTH_METHOD: 'keystone',
        TSIGIL_AUTH_INSUFFICIENT_RIGHTS_STATUS: '401',
        ...Object.fromEntries(named),
      };
    },
    issue: (role = 'admin', project = 'one') => keystone.token(`${role}-${project}`, { project }),
  };
}

/** Starts a service that stops at the end of the test. */
export async function start(variables: Record<string, string>): Promise<TestService> {
  const service = await startTestService(variables);
  onTestFinished(() => service.close());
  return service;
}

/** Starts a gateway to Keystone and a service behind it. Both stop at the end of the test. */
export async function startBehindGateway(
  cloud: Cloud,
  settings?: Credentials,
  credentials?: Credentials,
): Promise<[TestService, Gateway]> {
  const gateway = await startGateway(cloud.keystone.url);
  onTestFinished(() => gateway.close());
  return [await start(cloud.variables({ URL: gateway.url, ...settings }, credentials)), gateway];
}

/** Lists the TLDs and returns the status. Only administrators may list TLDs. */
export async function statusOf(service: TestService, token: string): Promise<number> {
  return (await service.with(token).get('/v2/tlds')).status;
}
