import { CONFIGURED_ID, type Caller, type CallerSession } from '../core/caller.ts';
import type { Authenticate, Clock, KnownCaller, Store } from '../core/ports.ts';
import { openToken } from '../core/sealed-token.ts';
import {
  CODE_CREDENTIAL,
  session as sessionType,
  SESSION_CREDENTIAL,
  type Session,
  type SessionKind,
} from '../resources/session.ts';
import { hashToken } from '../core/token-hash.ts';
import { millisecondsOf, timestampOf } from '../core/text/timestamps.ts';
import { cacheUnchanged, type UnchangedRows } from './cache.ts';

interface SessionDependencies {
  readonly store: Store;
  readonly clock: Clock;
  /** A monotonic clock. */
  readonly seconds: () => number;
  readonly idleSeconds: number;
  /** The tokens of the service by their ids. Absent if the service does not accept them. */
  readonly tokens: UnchangedRows<Caller> | undefined;
  /** The methods for every other token. */
  readonly others: { readonly authenticate: Authenticate; readonly cachedCaller: KnownCaller };
  /** Reports a session that another program stored or changed. */
  readonly forged: (id: string) => void;
  readonly log: { warn(fields: object, message: string): void };
}

export interface Sessions {
  recognises(credential: string): boolean;
  readonly authenticate: Authenticate;
  readonly cachedCaller: KnownCaller;
  noteUse(caller: Caller): void;
  close(): Promise<void>;
}

/** A stored session, with the token that only its cookie could decrypt. */
interface OpenedSession {
  readonly row: Session;
  readonly token: string | undefined;
}

/** How often the use of one session is stored at most. */
const STORE_MS = 60_000;

/** The sessions whose last use is in memory. */
const MAX_IN_USE = 10_000;

/**
 * A session ends as soon as its token does: each request looks at the token as it is now, through
 * the same caches as a request with the token itself.
 */
export function openSessions({
  store,
  clock,
  seconds,
  idleSeconds,
  tokens,
  others,
  forged,
  log,
}: SessionDependencies): Sessions {
  const uses = createUses(store, log);
  const rows = cacheUnchanged(store, sessionType, seconds, (credential) =>
    findSession(store, credential, forged),
  );
  const ifOpen = (opened: OpenedSession | undefined): CallerSession | undefined => {
    if (opened === undefined) return undefined;
    const { id, created_at: signedInAt, seen_at: storedAt, expires_at: expiresAt } = opened.row;
    const seenAt = uses.latest(id, storedAt);
    const now = clock();
    const idleAt = timestampOf(millisecondsOf(seenAt) + idleSeconds * 1000);
    return expiresAt <= now || idleAt <= now ? undefined : { id, signedInAt, expiresAt, seenAt };
  };
  const callerIn = (
    opened: OpenedSession,
    open: CallerSession,
    caller: Caller | undefined,
  ): Caller | undefined => {
    if (caller === undefined || kindOf(caller) !== opened.row.kind) return undefined;
    if (caller.id !== opened.row.credential_id) return undefined;
    // A code has no session yet: it is only good for one.
    return opened.row.purpose === 'code' ? caller : { ...caller, session: open };
  };
  return {
    recognises: (credential) =>
      credential.startsWith(SESSION_CREDENTIAL) || credential.startsWith(CODE_CREDENTIAL),
    cachedCaller(credential) {
      const opened = rows.cached(credential);
      const open = ifOpen(opened);
      if (opened === undefined || open === undefined) return undefined;
      const { token, row } = opened;
      const caller =
        token === undefined ? tokens?.cached(row.credential_id) : others.cachedCaller(token);
      return callerIn(opened, open, caller);
    },
    async authenticate(credential) {
      const opened = await rows.find(credential);
      const open = ifOpen(opened);
      if (opened === undefined || open === undefined) return undefined;
      const { token, row } = opened;
      const caller = await (token === undefined
        ? tokens?.find(row.credential_id)
        : others.authenticate(token));
      return callerIn(opened, open, caller);
    },
    noteUse({ session }) {
      if (session !== undefined) uses.note(session, millisecondsOf(clock()));
    },
    async close() {
      await uses.written();
    },
  };
}

function kindOf({ id, scope }: Caller): SessionKind {
  if (scope !== undefined) return 'keystone';
  return id === CONFIGURED_ID ? 'configured' : 'token';
}

async function findSession(
  store: Store,
  credential: string,
  forged: (id: string) => void,
): Promise<OpenedSession | undefined> {
  const [prefix, purpose] = credential.startsWith(CODE_CREDENTIAL)
    ? ([CODE_CREDENTIAL, 'code'] as const)
    : ([SESSION_CREDENTIAL, 'session'] as const);
  const value = credential.slice(prefix.length);
  const hash = hashToken(value);
  const [row] = await store.find(sessionType, 'hash', [hash]);
  if (row?.hash === '') forged(row.id);
  if (row?.hash !== hash || row.purpose !== purpose) return undefined;
  if (row.sealed_token === null) return { row, token: undefined };
  const token = openToken(value, row.sealed_token);
  return token === undefined ? undefined : { row, token };
}

/**
 * Remembers when sessions were used, and stores it at most once a minute for each. A use that
 * cannot be stored is stored with the next.
 */
function createUses(store: Pick<Store, 'noteSeen'>, log: SessionDependencies['log']) {
  const inUse = new Map<string, { readonly usedMs: number; readonly storedMs: number }>();
  const writes = new Set<Promise<void>>();
  let isFailing = false;
  const write = async (id: string, usedMs: number) => {
    try {
      await store.noteSeen(id, timestampOf(usedMs));
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.warn({ err }, 'Cannot store when sessions of the console were last used');
      isFailing = true;
    }
  };
  return {
    latest(id: string, storedAt: string): string {
      const used = inUse.get(id);
      const usedAt = used === undefined ? storedAt : timestampOf(used.usedMs);
      return usedAt > storedAt ? usedAt : storedAt;
    },
    note({ id, seenAt }: CallerSession, now: number): void {
      const storedMs = inUse.get(id)?.storedMs ?? millisecondsOf(seenAt);
      const isDue = now - storedMs >= STORE_MS;
      inUse.delete(id);
      inUse.set(id, { usedMs: now, storedMs: isDue ? now : storedMs });
      const [oldest] = inUse.keys();
      if (inUse.size > MAX_IN_USE && oldest !== undefined) inUse.delete(oldest);
      if (!isDue) return;
      const written = write(id, now).finally(() => writes.delete(written));
      writes.add(written);
    },
    written: () => Promise.all(writes),
  };
}
