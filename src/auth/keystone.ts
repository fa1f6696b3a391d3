import { readFileSync } from 'node:fs';
import type { Caller } from '../domain/model/caller.ts';
import { hashToken } from '../domain/resources/token.ts';
import { looksLikeToken } from '../domain/model/token-form.ts';
import { createKeystoneApi } from '../net/keystone.ts';
import { createCache } from './cache.ts';
import { createKeystoneClient, type KeystoneClient, type KeystoneCredentials } from './keystone-client.ts';
import type { ValidToken } from './keystone-token.ts';
import type { Method } from './method.ts';

/** How to reach Keystone, who the service is there, and for how long an answer counts. */
export interface KeystoneSettings extends KeystoneCredentials {
  readonly url: string | undefined;
  readonly publicUrl: string | undefined;
  readonly caFile: string | undefined;
  readonly timeoutSeconds: number;
  readonly cacheSeconds: number;
  readonly cacheEntries: number;
}

/** What a question about a token came to. */
export type Outcome = 'valid' | 'refused' | 'unavailable';

/** Hears what goes on, for the metrics. */
export interface KeystoneObserver {
  validated(outcome: Outcome, seconds: number): void;
  /** A question that a cached answer made unnecessary. */
  cacheHit(outcome: Outcome): void;
}

/** For how long a refusal counts at most. A token may be unknown only because a Keystone was not given a new key yet. */
const REFUSAL_SECONDS = 10;

/** What every token of Keystone is made of, whatever its provider: a header can carry it, and nothing in it can end the header. */
const TOKEN = /^[\x21-\x7e]+$/;

/** What is remembered of a refused token. */
const REFUSED = {};

/**
 * Knows the callers of Keystone's tokens. An answer of Keystone counts until the token expires or `cacheSeconds` are over, and is
 * kept under the token's hash. Refusals have a cache of their own, so that no flood of bad tokens drives out the good ones.
 * Throws when the file of authorities cannot be read.
 */
export function keystoneTokens(settings: KeystoneSettings, observer: KeystoneObserver): Method {
  const { url = '', caFile, timeoutSeconds, cacheSeconds, cacheEntries } = settings;
  const seconds = () => performance.now() / 1000;
  const api = createKeystoneApi(url, { ca: caFile === undefined ? undefined : readFileSync(caFile, 'utf8') });
  const validate = observed(createKeystoneClient(api, settings, timeoutSeconds, seconds).validate, observer, seconds);
  const callers = createCache<Caller>(cacheEntries, seconds);
  const refusals = createCache<typeof REFUSED>(cacheEntries, seconds);
  const underWay = new Map<string, Promise<Caller | undefined>>();

  const ask = async (token: string, key: string): Promise<Caller | undefined> => {
    const askedAt = seconds();
    const valid = await validate(token);
    if (valid === undefined) refusals.set(key, REFUSED, askedAt + Math.min(REFUSAL_SECONDS, cacheSeconds));
    else callers.set(key, valid.caller, askedAt + Math.min(cacheSeconds, (valid.expiresAt - Date.now()) / 1000));
    return valid?.caller;
  };

  return {
    claims: (token) => !looksLikeToken(token),
    known(token) {
      const caller = callers.get(hashToken(token));
      if (caller !== undefined) observer.cacheHit('valid');
      return caller;
    },
    async authenticate(token) {
      if (!TOKEN.test(token)) return undefined;
      const key = hashToken(token);
      const known = callers.get(key);
      if (known !== undefined || refusals.get(key) !== undefined) {
        observer.cacheHit(known === undefined ? 'refused' : 'valid');
        return known;
      }
      const flight = underWay.get(key) ?? ask(token, key).finally(() => underWay.delete(key));
      underWay.set(key, flight);
      return flight;
    },
    challenge: challengeOf(settings.publicUrl ?? url),
    close: api.close,
  };
}

/** The scheme that OpenStack's clients know; no standard has it. */
function challengeOf(url: string): Method['challenge'] {
  const challenge = `Keystone uri="${new URL(url).href.replace(/\/+$/, '')}"`;
  return { unknownCaller: challenge, missingRight: challenge };
}

function observed(validate: KeystoneClient['validate'], observer: KeystoneObserver, seconds: () => number): KeystoneClient['validate'] {
  return async (token) => {
    const askedAt = seconds();
    let outcome: Outcome = 'unavailable';
    try {
      const valid: ValidToken | undefined = await validate(token);
      outcome = valid === undefined ? 'refused' : 'valid';
      return valid;
    } finally {
      observer.validated(outcome, seconds() - askedAt);
    }
  };
}
