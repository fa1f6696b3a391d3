import type { Caller } from './core/caller.ts';
import type { Authenticate, Clock, KnownCaller, Store } from './core/ports.ts';
import type { AuthMethod } from './core/settings.ts';
import {
  keystoneTokens,
  type KeystoneObserver,
  type KeystoneSettings,
} from './keystone/keystone.ts';
import type { Challenge, Method } from './tokens/sign-in-method.ts';
import { openSessions, type Sessions } from './tokens/session-tokens.ts';
import { createTokenUses, type TokenUseSettings } from './tokens/job/token-uses.ts';
import { configuredToken, ownTokens, validTokens } from './tokens/own-tokens.ts';

interface AuthDependencies {
  readonly store: Store;
  /** The clock that decides whether a token has expired. It must follow the system clock. */
  readonly clock: Clock;
  /** Ids of own tokens that this process refuses, even if the database still contains them. */
  readonly revokedTokens: ReadonlySet<string>;
  /** Reports a request with a token that another program stored or changed. */
  readonly forgedToken: (id: string) => void;
  readonly tokenUses: Omit<TokenUseSettings, 'store'>;
  readonly keystone: KeystoneSettings;
  /** The settings of the sessions of the web console. Absent without a console. */
  readonly sessions?: SessionSettings | undefined;
  readonly keystoneObserver: KeystoneObserver;
}

interface SessionSettings {
  readonly idleSeconds: number;
  readonly forged: (id: string) => void;
}

const monotonic = () => performance.now() / 1000;

function tokenDependencies({ store, clock, revokedTokens, forgedToken }: AuthDependencies) {
  return { store, clock, seconds: monotonic, refused: revokedTokens, forged: forgedToken };
}

const METHODS: Readonly<Record<AuthMethod, (dependencies: AuthDependencies) => Method>> = {
  tokens: (dependencies) => ownTokens(tokenDependencies(dependencies)),
  keystone: ({ keystone, keystoneObserver }) => keystoneTokens(keystone, keystoneObserver),
};

/** All configured methods, combined. */
export interface Authentication {
  readonly authenticate: Authenticate;
  readonly cachedCaller: KnownCaller;
  readonly challenges: readonly Challenge[];
  /** Records that the caller used its token, or its session, now. */
  readonly noteUse: (caller: Caller) => void;
  /** Replaces the administrator token with `adminToken`, or removes it if undefined. */
  changeAdminToken(adminToken: string | undefined): void;
  /** Stores when tokens were last used, and closes the connections of the methods. */
  close(): Promise<void>;
}

/**
 * Authenticates callers by `adminToken`, if one is configured, and then by the methods in `names`.
 * Refuses a token that no method recognises. Throws if a file in the configuration cannot be read.
 */
export function openAuthentication(
  names: readonly AuthMethod[],
  adminToken: string | undefined,
  dependencies: AuthDependencies,
): Authentication {
  const methods = Object.entries(METHODS)
    .filter(([name]) => names.some((chosen) => chosen === name))
    .map(([, open]) => open(dependencies));
  const withAdminToken = (token: string | undefined) =>
    token === undefined ? methods : [configuredToken(token), ...methods];
  let authenticators = withAdminToken(adminToken);
  const uses = createTokenUses({ store: dependencies.store, ...dependencies.tokenUses });
  const others = {
    authenticate: async (token: string) =>
      authenticators.find(({ recognises }) => recognises(token))?.authenticate(token),
    cachedCaller: (token: string) =>
      authenticators.find(({ recognises }) => recognises(token))?.cachedCaller(token),
  };
  const sessions = sessionsOf(names, dependencies, others);
  const methodOf = (credential: string) =>
    sessions?.recognises(credential) === true ? sessions : others;
  return {
    noteUse(caller) {
      uses.note(caller);
      sessions?.noteUse(caller);
    },
    authenticate: (credential) => methodOf(credential).authenticate(credential),
    cachedCaller: (credential) => methodOf(credential).cachedCaller(credential),
    challenges: methods.map(({ challenge }) => challenge),
    changeAdminToken(token) {
      authenticators = withAdminToken(token);
    },
    async close() {
      for (const { close } of methods) close();
      await sessions?.close();
      await uses.close();
    },
  };
}

function sessionsOf(
  names: readonly AuthMethod[],
  dependencies: AuthDependencies,
  others: Pick<Authentication, 'authenticate' | 'cachedCaller'>,
): Sessions | undefined {
  const { store, clock, sessions, tokenUses } = dependencies;
  if (sessions === undefined) return undefined;
  return openSessions({
    store,
    clock,
    seconds: monotonic,
    tokens: names.includes('tokens')
      ? validTokens('id', tokenDependencies(dependencies))
      : undefined,
    others,
    idleSeconds: sessions.idleSeconds,
    forged: sessions.forged,
    log: tokenUses.log,
  });
}
