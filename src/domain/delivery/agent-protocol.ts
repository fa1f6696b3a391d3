import {
  anyText,
  array,
  boolean,
  enumeration,
  integer,
  list,
  nullable,
  text,
  timestamp,
  uuid,
  type ValueOf,
} from '../model/field.ts';
import { described, object, optional, responseObject } from '../model/object.ts';
import { SERVER_STATES } from '../resources/name-server-status.ts';
import { nameServer } from '../resources/name-server.ts';
import { comparisonForm } from '../text/dns-name.ts';
import type { Claim, Delivery, Desire } from './ports.ts';

/** The version of the format. Agents refuse others. */
export const AGENT_FORMAT = 1;

/** The maximum number of items in a list of a report. */
const MAX_ITEMS = 100_000;

/** The maximum number of changes in a state, and of deliveries in a report: bodies are limited. */
export const MAX_AT_ONCE = 3000;

const STATES = ['pending', 'delivered', 'failed', 'undeliverable', 'removing'] as const;
const OUTCOMES = ['unchanged', 'changed', 'drifted', 'failed'] as const;

const items = <T>(kind: Parameters<typeof array<T>>[0]) => array(kind, 0, MAX_ITEMS);

const ZONES = described(
  nullable(items(anyText())),
  'The zones to which the key applies. Null for all zones.',
);

const FAILURE = nullable(
  object({
    code: described(
      word(/^[a-z0-9_]+$/, '`a` to `z`, digits and `_`'),
      'The reason, such as `unreachable`.',
    ),
    message: described(text({ min: 0, max: 4000 }), 'The reason in words, without secrets.'),
  }),
);

/** What a name server should have, for its agent. */
export const DESIRED = responseObject({
  format: described(integer(1), 'The version of this format.'),
  etag: described(anyText(), 'The value of the header `ETag`.'),
  fence: described(integer(0), 'The number of this pass. It grows with each pass.'),
  name_server: described(
    responseObject({
      ...nameServer.fields,
      id: uuid(),
      created_at: timestamp(),
      updated_at: optional(nullable(timestamp())),
    }),
    'The name server.',
  ),
  applied_hash: described(nullable(anyText()), 'The hash of the state that was applied last.'),
  probes: described(
    enumeration(['all', 'due', 'none']),
    'The keys to verify that have not changed: all, those that are due, or one.',
  ),
  is_confirmed: described(boolean(), 'Whether an operator confirmed the removal of many keys.'),
  refusals: described(integer(0), 'How many times in a row the name server refused its keys.'),
  changes: described(items(anyText()), 'The ids of the changes that this state includes.'),
  zones: described(items(anyText()), 'The names of the zones of the pool.'),
  keys: described(
    items(
      responseObject({
        id: uuid(),
        name: described(anyText(), 'In lower case, without a final dot.'),
        algorithm: anyText(),
        secret: described(
          nullable(anyText()),
          'In base64. Null if `If-None-Match` shows that the agent has these keys.',
        ),
        version: integer(1),
        zones: ZONES,
      }),
    ),
    'The keys that the name server should have.',
  ),
  kept: described(
    items(responseObject({ id: uuid(), name: anyText(), version: integer(1), zones: ZONES })),
    'The keys whose secret is not known. A name server that has one keeps it.',
  ),
  undeliverable: described(
    items(
      responseObject({
        ...{ id: uuid(), name: anyText(), version: integer(1), reason: anyText() },
        code: enumeration(['undeliverable_key', 'unreadable_secret']),
      }),
    ),
    'The keys that no name server can use, and those whose secret is not known.',
  ),
  deliveries: described(
    items(
      responseObject({
        key_id: uuid(),
        key_name: anyText(),
        state: enumeration(STATES),
        delivered_version: integer(0),
        applied_at: nullable(timestamp()),
        verified_at: nullable(timestamp()),
        error: FAILURE,
      }),
    ),
    'The keys that the name server may have.',
  ),
});

/** What a name server should have, for its agent. */
export type DesiredForAgent = ValueOf<typeof DESIRED>;

/** The result of a pass, from an agent. */
export const OBSERVED = object({
  agent: described(agentName(), 'The name of the agent.'),
  etag: described(text({ min: 1, max: 200 }), 'The `etag` of the state that the pass applied.'),
  fence: described(integer(0), 'The `fence` of that state.'),
  completed: described(
    boolean(),
    'Whether the pass reached its end. Otherwise its changes still wait.',
  ),
  outcome: described(enumeration(OUTCOMES), 'What the pass did.'),
  state: described(enumeration(SERVER_STATES), 'The state of the name server.'),
  error: described(FAILURE, 'Why the pass failed.'),
  keys_wanted: described(
    integer(0, MAX_ITEMS),
    'The number of keys that the name server should have.',
  ),
  keys_live: described(integer(0, MAX_ITEMS), 'The number of keys that were verified.'),
  applied: described(boolean(), 'Whether the pass changed the name server.'),
  verified: described(boolean(), 'Whether the name server has all keys.'),
  probed_all: described(boolean(), 'Whether the pass verified the keys that were due.'),
  found_drift: described(boolean(), 'Whether another program had changed the name server.'),
  refusals: described(
    integer(0, 1_000_000),
    'How many times in a row the server refused its keys.',
  ),
  changes: described(list(uuid(), 0, MAX_ITEMS), 'The `changes` of the state.'),
  deliveries: described(
    items(
      object({
        key_id: uuid(),
        state: enumeration(STATES),
        delivered_version: integer(0, 2_147_483_647),
        error: FAILURE,
      }),
    ),
    'The keys whose state changed. Keys that are not in the state are ignored. For a key with several items, the last one counts.',
  ),
  removed: described(list(uuid(), 0, MAX_ITEMS), 'The keys that the name server no longer has.'),
  next_ms: described(
    integer(0, 600_000),
    'When the next comparison or attempt is due, in milliseconds.',
  ),
  duration_ms: described(integer(0, 3_600_000), 'How long the pass took.'),
});

/** The result of a pass, from an agent. */
export type ObservedByAgent = ValueOf<typeof OBSERVED>;

/** The kind of the name of an agent: the host that it runs on. */
export function agentName() {
  return word(/^[A-Za-z0-9_.-]+$/, 'letters, digits, `_`, `.` and `-`');
}

function word(pattern: RegExp, what: string) {
  return text({
    ...{ min: 1, max: 64, pattern: pattern.source },
    problemOf: (value) => (pattern.test(value) ? undefined : `must contain only ${what}`),
  });
}

/** A request of an agent for the keys of its name server. */
export interface AgentRequest {
  /** The name of the agent. */
  readonly agent: string;
  readonly waitMs: number;
  /** The header `If-None-Match`. */
  readonly etag: string | undefined;
  /** Returns whether the token is still valid, after the request has waited. */
  isValid(): Promise<boolean>;
}

/** The delivery by agents. */
export interface AgentDelivery {
  /**
   * Takes or renews the lease of an agent, and waits for work. Returns the keys that the name
   * server should have, or undefined if nothing changed. Throws `agent_conflict`, and
   * `unauthenticated` if the token became invalid meanwhile.
   */
  desired(id: string, request: AgentRequest): Promise<DesiredForAgent | undefined>;
  /** Records the result of a pass. Throws `agent_conflict` if a later pass has begun. */
  observed(id: string, report: ObservedByAgent): Promise<void>;
}

/** Returns the entity tag of a state with this hash, in the pass with this number. */
export function etagOf(hash: string, fence: number): string {
  return `"${hash}.${fence}"`;
}

/** Returns the hash and the number in an entity tag; undefined if the service has not sent it. */
export function readEtag(etag: string): { hash: string; fence: number } | undefined {
  const [, hash, fence] = /^"([0-9a-f]{64})\.(\d{1,15})"$/.exec(etag) ?? [];
  return hash === undefined ? undefined : { hash, fence: Number(fence) };
}

/** Returns what an agent gets. `hidesSecrets` if the agent has the secrets of this state. */
export function writeDesired(
  claim: Claim,
  hash: string,
  changes: readonly string[],
  { state, undeliverable }: Desire,
  deliveries: readonly Delivery[],
  hidesSecrets: boolean,
): DesiredForAgent {
  return {
    format: AGENT_FORMAT,
    etag: etagOf(hash, claim.fence),
    fence: claim.fence,
    name_server: claim.server,
    applied_hash: claim.appliedHash,
    probes: claim.probes,
    is_confirmed: claim.isConfirmed,
    refusals: claim.refusals,
    changes: changes.slice(0, MAX_AT_ONCE),
    zones: state.zones,
    keys: state.keys.map(({ id, name, algorithm, secret, version, zones }) => ({
      ...{ id, name, algorithm, version },
      secret: hidesSecrets ? null : secret,
      zones: zones === 'all' ? null : zones,
    })),
    kept: (state.kept ?? []).map(({ id, name, version, zones }) => ({
      ...{ id, name, version, zones: zones === 'all' ? null : zones },
    })),
    undeliverable: undeliverable.map(({ key, code, reason }) => ({
      ...{ id: key.id, name: comparisonForm(key.name), version: key.version, code, reason },
    })),
    deliveries: deliveries.map((row) => ({
      ...{ key_id: row.keyId, key_name: row.keyName, state: row.state },
      ...{ delivered_version: row.deliveredVersion, applied_at: row.appliedAt },
      ...{ verified_at: row.verifiedAt, error: row.error },
    })),
  };
}

/** A pass as an agent gets it. */
export interface AgentPass {
  readonly claim: Claim;
  readonly etag: string;
  readonly changes: readonly string[];
  readonly desired: Desire;
  readonly deliveries: readonly Delivery[];
}

/**
 * Returns the pass that the service describes. `secretOf` returns the secrets that the agent has.
 * Returns undefined if one of them is absent.
 */
export function readDesired(
  given: DesiredForAgent,
  secretOf: (id: string) => string | undefined,
): AgentPass | undefined {
  const { name_server: server, fence, etag, changes } = given;
  const { rights } = server;
  const keys = given.keys.flatMap(({ zones, secret: sent, ...key }) => {
    const secret = sent ?? secretOf(key.id);
    return secret === undefined
      ? []
      : [{ ...key, secret, rights, zones: zones ?? ('all' as const) }];
  });
  if (keys.length < given.keys.length) return undefined;
  return {
    claim: {
      ...{ server, fence, appliedHash: given.applied_hash, probes: given.probes },
      ...{ isConfirmed: given.is_confirmed, refusals: given.refusals },
    },
    ...{ etag, changes },
    desired: {
      state: {
        ...{ zones: given.zones, keys },
        kept: given.kept.map(({ zones, ...key }) => ({ ...key, rights, zones: zones ?? 'all' })),
      },
      undeliverable: given.undeliverable.map(({ code, reason, ...key }) => ({ key, code, reason })),
    },
    deliveries: given.deliveries.map((row): Delivery => ({
      ...{ keyId: row.key_id, keyName: row.key_name, state: row.state },
      ...{ deliveredVersion: row.delivered_version, appliedAt: row.applied_at },
      ...{ verifiedAt: row.verified_at, error: row.error },
    })),
  };
}
