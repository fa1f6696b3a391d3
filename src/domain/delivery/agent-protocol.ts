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
import { FOUND_STATES } from '../resources/name-server-status.ts';
import { nameServer } from '../resources/name-server.ts';
import { hostName, word } from '../resources/shared-fields.ts';

/**
 * The version of the format of states and reports. An agent refuses any other format. Within a
 * format, later versions of Tsigil only add members. Responses and reports may therefore have
 * unknown members, and reports may lack new members.
 */
export const AGENT_FORMAT = 1;

/** The maximum number of items in a list of a state or a report. */
export const MAX_ITEMS = 100_000;

/**
 * The maximum number of changes in a state, and of deliveries in a report. This limit keeps both
 * bodies below the maximum size.
 */
export const MAX_AT_ONCE = 3000;

const STATES = ['pending', 'delivered', 'failed', 'undeliverable', 'removing', 'held'] as const;
const REPORTED = ['delivered', 'failed', 'undeliverable', 'removing'] as const;
const OUTCOMES = ['unchanged', 'changed', 'drifted', 'failed'] as const;

const items = <T>(kind: Parameters<typeof array<T>>[0]) => array(kind, 0, MAX_ITEMS);

const ZONES = described(
  nullable(items(anyText())),
  'The zones to which the key applies. Null for all zones.',
);

const FAILURE = nullable(
  responseObject({
    code: described(
      word(/^[a-z0-9_]+$/, '`a` to `z`, digits and `_`'),
      'The reason, such as `unreachable`.',
    ),
    message: described(text({ min: 0, max: 4000 }), 'The reason in a sentence, without secrets.'),
  }),
);

export const DESIRED = responseObject({
  format: described(integer(1), 'The version of the format of this response.'),
  etag: described(anyText(), 'The value of the header `ETag`.'),
  fence: described(
    integer(0),
    'The number of this pass. Each pass has a higher number than the previous pass.',
  ),
  name_server: described(
    responseObject({
      ...nameServer.fields,
      held: optional(nameServer.fields.held),
      unknown_keys: optional(nameServer.fields.unknown_keys),
      id: uuid(),
      created_at: timestamp(),
      updated_at: optional(nullable(timestamp())),
    }),
    'The name server.',
  ),
  applied_hash: described(nullable(anyText()), 'The hash of the state that was applied last.'),
  applied_rights: optional(
    described(nameServer.fields.rights, 'The rights of the keys in the last whole state.'),
  ),
  probes: described(
    enumeration(['all', 'due', 'none']),
    'The unchanged keys to verify: all keys, the keys whose check is due, or none.',
  ),
  is_confirmed: described(
    boolean(),
    'Whether an operator confirmed the removal of any number of keys.',
  ),
  refusals: described(integer(0), 'How many times in a row the name server refused its keys.'),
  stamps: optional(
    described(
      items(anyText()),
      'The stamps that the name server may have. The agent writes the first one with each change.',
    ),
  ),
  changes: described(items(anyText()), 'The ids of the changes that this state includes.'),
  zones: described(items(anyText()), 'The names of the zones of the pool.'),
  keys: described(
    items(
      responseObject({
        id: uuid(),
        name: described(anyText(), 'The name of the key in lower case, without a trailing dot.'),
        algorithm: anyText(),
        secret: described(
          nullable(anyText()),
          'The secret in base64. Null if `If-None-Match` shows that the agent has these keys.',
        ),
        version: integer(1),
        zones: ZONES,
      }),
    ),
    'The keys that the name server should have.',
  ),
  kept: described(
    items(responseObject({ id: uuid(), name: anyText(), version: integer(1), zones: ZONES })),
    'The keys whose secret is lost or cannot be decrypted. The agent does not remove these keys from the name server.',
  ),
  undeliverable: described(
    items(
      responseObject({
        id: uuid(),
        name: anyText(),
        version: integer(1),
        reason: anyText(),
        code: enumeration(['undeliverable_key', 'unreadable_secret']),
      }),
    ),
    'The keys that no name server can use, and the keys whose secret is lost or cannot be decrypted.',
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

export type DesiredForAgent = ValueOf<typeof DESIRED>;

export const OBSERVED = responseObject({
  agent: described(hostName(), 'The name of the agent.'),
  etag: described(text({ min: 1, max: 200 }), 'The `etag` of the state that the pass applied.'),
  fence: described(integer(0), 'The `fence` of the state that the pass applied.'),
  completed: described(
    boolean(),
    'Whether the pass completed. If false, its changes are still pending.',
  ),
  outcome: described(enumeration(OUTCOMES), 'The outcome of the pass.'),
  state: described(enumeration(FOUND_STATES), 'The state of the name server.'),
  error: described(FAILURE, 'Why the pass failed.'),
  keys_wanted: described(
    integer(0, MAX_ITEMS),
    'The number of keys that the name server should have.',
  ),
  keys_live: described(integer(0, MAX_ITEMS), 'The number of keys that were verified.'),
  applied: described(boolean(), 'Whether the pass changed the name server.'),
  verified: described(boolean(), 'Whether the name server has all keys.'),
  probed_all: described(boolean(), 'Whether the pass verified the keys whose check was due.'),
  found_drift: described(boolean(), 'Whether another program had changed the name server.'),
  refusals: described(
    integer(0, 1_000_000),
    'How many times in a row the name server refused its keys.',
  ),
  changes: described(
    list(uuid(), 0, MAX_ITEMS),
    'The `changes` of the state that the pass applied.',
  ),
  deliveries: described(
    items(
      responseObject({
        key_id: uuid(),
        state: enumeration(REPORTED),
        delivered_version: integer(0, 2_147_483_647),
        error: FAILURE,
      }),
    ),
    'The keys whose state changed. The service ignores keys that are not in the desired state that the pass applied. If a key has several items, the service uses the last item.',
  ),
  removed: described(
    list(uuid(), 0, MAX_ITEMS),
    'The keys that the name server no longer has. If `completed` is false, the new keys that the pass has not begun to deliver.',
  ),
  next_ms: described(
    integer(0, 600_000),
    'The time until the next comparison or attempt, in milliseconds.',
  ),
  duration_ms: described(integer(0, 3_600_000), 'The duration of the pass, in milliseconds.'),
});

export type ObservedByAgent = ValueOf<typeof OBSERVED>;

/** A request by an agent to renew the lease of a pass. */
export const RENEWAL = object(
  {
    agent: described(hostName(), 'The name of the agent.'),
    fence: described(integer(0), 'The `fence` of the state that the pass applies.'),
  },
  { ignoresOthers: true },
);

/** A request by an agent for the keys of its name server. */
export interface AgentRequest {
  readonly agent: string;
  readonly waitMs: number;
  readonly etag: string | undefined;
  /** Aborts when the agent closes the connection. */
  readonly disconnected: AbortSignal;
  /** Returns whether the token is still valid. Call this after the request has waited. */
  isValid(): Promise<boolean>;
}

/** The delivery of keys by agents. */
export interface AgentDelivery {
  /**
   * Acquires or renews the lease of an agent, and waits for pending changes or a due check. Returns
   * the desired state, or undefined if nothing changed. Throws `agent_conflict` if another holder
   * has the lease, or if no agent delivers the keys. Throws `unauthenticated` if the token becomes
   * invalid while the request waits.
   */
  desired(id: string, request: AgentRequest): Promise<DesiredForAgent | undefined>;
  /**
   * Extends the lease of a pass. Returns the number of pending changes. Throws `agent_conflict` if
   * a later pass has begun.
   */
  renew(id: string, renewal: ValueOf<typeof RENEWAL>): Promise<number>;
  /** Records the result of a pass. Throws `agent_conflict` if a later pass has begun. */
  observed(id: string, report: ObservedByAgent): Promise<void>;
}

/** The message to an agent if the member `delivery` of the name server is not `agent`. */
export const NO_AGENT =
  "No agent delivers the keys of this name server. Set the member 'delivery' of the name server to 'agent'";
