import type { Authenticate, Clock, KnownCaller, Store } from '../domain/model/ports.ts';
import type { AuthMethod } from '../domain/model/settings.ts';
import { keystoneTokens, type KeystoneObserver, type KeystoneSettings } from './keystone.ts';
import type { Challenge, Method } from './method.ts';
import { configuredToken, ownTokens } from './tokens.ts';

/** What methods are made from. */
export interface Surroundings {
  readonly store: Store;
  /** Decides whether a token has expired, so it has to follow the system's clock. */
  readonly clock: Clock;
  /** Ids of the service's own tokens that this process refuses although the database may still hold them. */
  readonly refusedTokens: ReadonlySet<string>;
  readonly keystone: KeystoneSettings;
  readonly keystoneObserver: KeystoneObserver;
}

/** Every method by its name in the configuration. A token goes to the first that claims it. */
const METHODS: Readonly<Record<AuthMethod, (surroundings: Surroundings) => Method>> = {
  tokens: ({ store, clock, refusedTokens }) => ownTokens(store, clock, () => performance.now() / 1000, refusedTokens),
  keystone: ({ keystone, keystoneObserver }) => keystoneTokens(keystone, keystoneObserver),
};

/** All configured ways of knowing callers as one. */
export interface Authentication {
  readonly authenticate: Authenticate;
  readonly known: KnownCaller;
  /** One for each method. */
  readonly challenges: readonly Challenge[];
  close(): void;
}

/**
 * Knows callers by the methods named, and by `adminToken` where one is configured, which no method gets to see. A token that
 * no method claims is refused. Throws when a file that the configuration names cannot be read.
 */
export function openAuthentication(names: readonly AuthMethod[], adminToken: string | undefined, surroundings: Surroundings): Authentication {
  const methods = Object.entries(METHODS)
    .filter(([name]) => names.some((chosen) => chosen === name))
    .map(([, open]) => open(surroundings));
  const judges = adminToken === undefined ? methods : [configuredToken(adminToken), ...methods];
  return {
    authenticate: async (token) => judges.find(({ claims }) => claims(token))?.authenticate(token),
    known: (token) => judges.find(({ claims }) => claims(token))?.known(token),
    challenges: methods.map(({ challenge }) => challenge),
    close: () => methods.forEach(({ close }) => close()),
  };
}
