import { readFileSync } from 'node:fs';
import type { Caller } from '../core/caller.ts';
import { hashToken } from '../core/token-hash.ts';
import { looksLikeToken } from '../core/text/token-form.ts';
import { createKeystoneApi } from './keystone-api.ts';
import { createCache } from '../tokens/cache.ts';
import {
  createKeystoneClient,
  type KeystoneClient,
  type KeystoneCredentials,
} from './keystone-client.ts';
import type { ValidToken } from './keystone-token.ts';
import type { Method } from '../tokens/sign-in-method.ts';

export interface KeystoneSettings extends KeystoneCredentials {
  readonly url: string | undefined;
  readonly publicUrl: string | undefined;
  readonly caFile: string | undefined;
  readonly timeoutSeconds: number;
  readonly cacheSeconds: number;
}

type Outcome = 'valid' | 'refused' | 'unavailable';

export interface KeystoneObserver {
  validated(outcome: Outcome, seconds: number): void;
  /** Records a result that came from the cache, without a request to Keystone. */
  cacheHit(outcome: Outcome): void;
}

/**
 * The maximum time for which a refusal is cached. After a key rotation, a Keystone node rejects
 * valid tokens until it receives the new key.
 */
const REFUSAL_SECONDS = 10;

/** The maximum number of cached results of each kind. */
const CACHE_ENTRIES = 10_000;

/** A Keystone token from any token provider: only characters that are safe in a header. */
const TOKEN = /^[\x21-\x7e]+$/;

const REFUSED = {};

/**
 * Authenticates callers by their Keystone tokens. Caches each result under the token's hash, until
 * the token expires and for at most `cacheSeconds`. Refusals have a separate cache, so a flood of
 * invalid tokens cannot evict valid tokens. Throws if the CA file cannot be read.
 */
export function keystoneTokens(settings: KeystoneSettings, observer: KeystoneObserver): Method {
  const { url = '', caFile, timeoutSeconds, cacheSeconds } = settings;
  const seconds = () => performance.now() / 1000;
  const api = createKeystoneApi(url, {
    ca: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
  });
  const validate = observed(
    createKeystoneClient(api, settings, timeoutSeconds, seconds).validate,
    observer,
    seconds,
  );
  const callers = createCache<Caller>(CACHE_ENTRIES, seconds);
  const refusals = createCache<typeof REFUSED>(CACHE_ENTRIES, seconds);
  const pending = new Map<string, Promise<Caller | undefined>>();

  const validateAndCache = async (token: string, key: string): Promise<Caller | undefined> => {
    const startedAt = seconds();
    const valid = await validate(token);
    if (valid === undefined)
      refusals.set(key, REFUSED, startedAt + Math.min(REFUSAL_SECONDS, cacheSeconds));
    else
      callers.set(
        key,
        valid.caller,
        startedAt + Math.min(cacheSeconds, (valid.expiresAt - Date.now()) / 1000),
      );
    return valid?.caller;
  };

  return {
    recognises: (token) => !looksLikeToken(token),
    cachedCaller(token) {
      const caller = callers.get(hashToken(token));
      if (caller !== undefined) observer.cacheHit('valid');
      return caller;
    },
    async authenticate(token) {
      if (!TOKEN.test(token)) return undefined;
      const key = hashToken(token);
      const caller = callers.get(key);
      if (caller !== undefined || refusals.get(key) !== undefined) {
        observer.cacheHit(caller === undefined ? 'refused' : 'valid');
        return caller;
      }
      const validation =
        pending.get(key) ?? validateAndCache(token, key).finally(() => pending.delete(key));
      pending.set(key, validation);
      return validation;
    },
    challenge: challengeOf(settings.publicUrl ?? url),
    close: api.close,
  };
}

/** OpenStack's clients expect this scheme, which no standard defines. */
function challengeOf(url: string): Method['challenge'] {
  const challenge = `Keystone uri="${new URL(url).href.replace(/\/+$/, '')}"`;
  return { unknownCaller: challenge, missingRight: challenge };
}

function observed(
  validate: KeystoneClient['validate'],
  observer: KeystoneObserver,
  seconds: () => number,
): KeystoneClient['validate'] {
  return async (token) => {
    const startedAt = seconds();
    let outcome: Outcome = 'unavailable';
    try {
      const valid: ValidToken | undefined = await validate(token);
      outcome = valid === undefined ? 'refused' : 'valid';
      return valid;
    } finally {
      observer.validated(outcome, seconds() - startedAt);
    }
  };
}
