import { openToken, sealToken } from '../core/sealed-token.ts';
import { CONFIGURED_ID, type Caller } from '../core/caller.ts';
import { ServiceError } from '../core/errors.ts';
import { MAX_AGENT, session, type Session, type SessionKind } from '../resources/session.ts';
import { hashToken } from '../core/token-hash.ts';
import { millisecondsOf, timestampOf } from '../core/text/timestamps.ts';
import {
  change,
  type ChangeContext,
  type Changes,
  type Dependencies,
} from '../resources/operations/change.ts';

/** The sessions, and the codes, of one token or user at a time. A further one ends the oldest. */
const MAX_SESSIONS = 10;

const CODE_SECONDS = 60;
const VALUE_OCTETS = 32;

/** What a session stands for. `token` is absent for a token in the database. */
export interface Credential {
  readonly kind: SessionKind;
  readonly id: string;
  readonly token?: string | undefined;
}

export function credentialOf({ id, scope }: Caller, token: string): Credential {
  if (scope !== undefined) return { kind: 'keystone', id, token };
  return id === CONFIGURED_ID ? { kind: 'configured', id, token } : { kind: 'token', id };
}

export function isOwnSession({ kind, credential_id: id }: Session, caller: Caller): boolean {
  const { kind: own } = credentialOf(caller, '');
  return kind === own && id === caller.id;
}

interface SignIn {
  readonly credential: Credential;
  /** The browser, in its own words. */
  readonly agent: string | undefined;
  readonly lifetimeSeconds: number;
  /** The cookie that the browser had, whose session ends. */
  readonly replaces?: string | undefined;
}

/** Opens a session, and returns the value of its cookie, which is stored nowhere. */
export function openSession(
  dependencies: Dependencies,
  context: ChangeContext,
  { credential, agent, lifetimeSeconds, replaces }: SignIn,
): Promise<string> {
  return change(dependencies, context, async (changes) => {
    const { value, row } = newRow(dependencies, context, 'session', credential, lifetimeSeconds);
    changes.lockType(session);
    const [replaced] =
      replaces === undefined ? [] : await changes.find(session, 'hash', [hashToken(replaces)]);
    if (replaced !== undefined) await changes.drop(session, replaced.id);
    const ended = replaced === undefined ? [] : [replaced.id];
    ended.push(...(await endOldest(changes, credential, 'session')));
    const stored = { ...row, agent: agentOf(agent) };
    await changes.put(session, stored);
    changes.event({
      action: 'sessions:create',
      type: session,
      id: row.id,
      name: row.name,
      detail: ended.length === 0 ? {} : { ended },
    });
    return value;
  });
}

/** Ends a session. Throws `resource_not_found`. */
export function endSession(
  dependencies: Dependencies,
  context: ChangeContext,
  id: string,
  mayEnd: (found: Session) => boolean,
): Promise<void> {
  return change(dependencies, context, async (changes) => {
    const found = await changes.getToChange(session, id);
    if (found === undefined || found.purpose !== 'session' || !mayEnd(found))
      throw new ServiceError('resource_not_found', session);
    await changes.drop(session, id);
    changes.event({ action: 'sessions:delete', type: session, id, name: found.name });
  });
}

/** Creates a code that starts a session of the same caller once, within a minute. */
export async function createCode(
  dependencies: Dependencies,
  context: ChangeContext,
  credential: Credential,
): Promise<{ readonly code: string; readonly expiresAt: string }> {
  return change(dependencies, context, async (changes) => {
    const { value, row } = newRow(dependencies, context, 'code', credential, CODE_SECONDS);
    changes.lockType(session);
    await endOldest(changes, credential, 'code');
    await changes.put(session, row);
    changes.event({ action: 'sessions:code', type: session, id: row.id, name: row.name });
    return { code: value, expiresAt: row.expires_at };
  });
}

/** Uses up a code. Returns undefined for one that is unknown, expired or used. */
export function redeemCode(
  dependencies: Dependencies,
  context: ChangeContext,
  code: string,
): Promise<Credential | undefined> {
  return change(dependencies, context, async (changes) => {
    const [found] = await changes.find(session, 'hash', [hashToken(code)]);
    const row = found && (await changes.getToChange(session, found.id));
    if (row === undefined || row.purpose !== 'code') return undefined;
    await changes.drop(session, row.id);
    if (row.expires_at <= changes.now()) return undefined;
    const { kind, credential_id: id, sealed_token: sealed } = row;
    if (sealed === null) return { kind, id };
    const token = openToken(code, sealed);
    return token === undefined ? undefined : { kind, id, token };
  });
}

/** Ends the oldest sessions, or codes, of a credential, so that one more is within the limit. */
async function endOldest(
  changes: Changes,
  { kind, id }: Credential,
  purpose: Session['purpose'],
): Promise<string[]> {
  const found = await changes.find(session, 'credential_id', [id]);
  const own = found
    .filter((row) => row.kind === kind && row.purpose === purpose)
    .sort((one, other) => (one.created_at < other.created_at ? -1 : 1));
  const ended = own.slice(0, Math.max(0, own.length - MAX_SESSIONS + 1));
  for (const row of ended) await changes.drop(session, row.id);
  return ended.map((row) => row.id);
}

function newRow(
  { newId, randomBytes, clock }: Dependencies,
  { caller, source }: ChangeContext,
  purpose: Session['purpose'],
  { kind, id, token }: Credential,
  lifetimeSeconds: number,
): { readonly value: string; readonly row: Session } {
  const value = randomBytes(VALUE_OCTETS).toString('base64url');
  const now = clock();
  const row = {
    id: newId(),
    created_at: now,
    purpose,
    hash: hashToken(value),
    kind,
    credential_id: id,
    name: caller.name,
    sealed_token: token === undefined ? null : sealToken(value, token),
    address: source ?? null,
    agent: null,
    expires_at: timestampOf(millisecondsOf(now) + lifetimeSeconds * 1000),
    seen_at: now,
  };
  return { value, row };
}

/** Returns the name of a browser without control characters, which no display needs. */
function agentOf(given: string | undefined): string | null {
  const shown = (given ?? '').replaceAll(/[^\x20-\x7e]/g, '').slice(0, MAX_AGENT);
  return shown === '' ? null : shown;
}
