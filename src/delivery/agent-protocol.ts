import {
  anyText,
  array,
  boolean,
  enumeration,
  integer,
  nullable,
  text,
  uuid,
  type Kind,
  type ValueOf,
} from '../core/field.ts';
import { described, object, optional, responseObject, withDefault } from '../core/object.ts';
import { RIGHTS } from '../access/rights.ts';
import { KEY_REFERENCE } from '../resources/name-server-status.ts';
import { hostName, word } from '../core/shared-fields.ts';
import { LOG_ANSWER, LOG_JOB } from './log-protocol.ts';

/**
 * The version of the format of jobs and answers. An agent refuses any other format. Within a format,
 * later versions of Tsigil only add members, and both sides ignore unknown members.
 */
export const AGENT_FORMAT = 1;

/** The maximum number of names in `unknown_keys`. */
export const MAX_UNKNOWN = 1000;

/** The maximum number of items in a list of a job or an answer. */
const MAX_ITEMS = 100_000;

const items = <T>(kind: Parameters<typeof array<T>>[0]) => array(kind, 0, MAX_ITEMS);
const ids = (description: string) => described(items(uuid()), description);
const names = (description: string) => described(items(anyText()), description);

const ZONE_NAMES = items(anyText());
const ZONES: Kind<'all' | readonly string[]> = {
  schema: { anyOf: [{ const: 'all' }, ZONE_NAMES.schema] },
  parse: (value) => (value === 'all' ? { value } : ZONE_NAMES.parse(value)),
};

const KEPT = {
  id: uuid(),
  name: described(anyText(), 'The name of the key in lower case, without a trailing dot.'),
  version: integer(1),
  access: described(
    responseObject({ transfer: optional(ZONES), update: optional(ZONES) }),
    'For each right of the key, the zones in which it has the right, or `all`.',
  ),
};

const KEY = responseObject({
  ...KEPT,
  algorithm: anyText(),
  secret: described(anyText(), 'The secret in base64.'),
  successor: optional(
    described(
      anyText(),
      'The name of the key that replaces this one, if all clients have it. The name server signs NOTIFY with that key where it signed with this one.',
    ),
  ),
});

export const MAX_MESSAGE = 1000;

const message = () => text({ min: 1, max: MAX_MESSAGE });

/** The name of a key on a name server, as the name server writes it. */
const keyName = () => text({ min: 0, max: 255 });

const STAMP = /^[0-9a-f]*$/;

const FAILURE = responseObject({
  code: described(
    word(/^[a-z0-9_]+$/, '`a` to `z`, digits and `_`'),
    'The reason, such as `unreachable`.',
  ),
  message: described(message(), 'The reason in a sentence, without secrets.'),
});

const PROBLEM = responseObject({
  id: uuid(),
  code: enumeration(['name_taken', 'undeliverable_key']),
  message: message(),
});

/** One pass for a name server: its state, and what to verify. */
export const JOB = responseObject({
  format: described(integer(1), 'The version of the format of this response.'),
  tag: described(anyText(), 'Identifies the state, and changes with it.'),
  fence: described(integer(0), 'The number of the pass. Each pass has a higher number.'),
  name_server: described(
    responseObject({
      id: uuid(),
      name: anyText(),
      driver: anyText(),
      address: anyText(),
      probe_zone: nullable(anyText()),
    }),
    'The name server.',
  ),
  stamps: names(
    'The stamps that the name server may have. The agent writes the first one with each change, and changes nothing on a name server with another stamp.',
  ),
  state: described(
    nullable(
      responseObject({
        zones: names('The names of the zones of the pool.'),
        keys: described(items(KEY), 'The keys that the name server should have.'),
        kept: described(
          items(responseObject(KEPT)),
          'The keys whose secret is lost or cannot be decrypted. They stay on the name server as they are.',
        ),
      }),
    ),
    'The state to deliver. Null if `If-None-Match` shows that the agent has it.',
  ),
  withheld: described(
    nullable(responseObject({ keys: items(KEY), kept: items(responseObject(KEPT)) })),
    'What is not delivered while the name server is `held` or `blocked`. Other keys of Tsigil stay on the name server as they are. Null if the state is whole.',
  ),
  is_held: described(boolean(), 'Whether delivery is held.'),
  owned: names("The names of keys on the name server that are Tsigil's."),
  further: names('The names of further keys that the database knows.'),
  is_applied: described(
    boolean(),
    'Whether the last pass applied this state. The agent then compares before it changes anything.',
  ),
  accepted: ids('The keys to verify that the name server must accept.'),
  restricted: withDefault(
    described(
      items(responseObject({ id: uuid(), right: enumeration(RIGHTS) })),
      'Keys in `accepted`, each with a right that it has not in every zone. The name server must refuse it in one of the others.',
    ),
    [],
  ),
  refused: described(
    items(
      responseObject({
        id: uuid(),
        name: anyText(),
        successor: withDefault(
          described(nullable(anyText()), 'The name of the key that replaces it, or null.'),
          null,
        ),
        compromised: withDefault(
          described(boolean(), 'Whether to refuse the key before all other changes.'),
          false,
        ),
      }),
    ),
    'The removed keys that the name server must refuse.',
  ),
  taken: described(items(PROBLEM), 'The keys that the driver left out in the last pass.'),
  is_slow: described(boolean(), 'Whether to send at most 20 queries per second.'),
  changes: described(integer(0), 'The number of changes that the state includes.'),
  retired: withDefault(
    names('The names of retired keys, of which the agent reports the refused uses in the log.'),
    [],
  ),
  ...LOG_JOB,
});

export type Job = ValueOf<typeof JOB>;

/** The result of a pass. */
export const ANSWER = responseObject({
  agent: described(hostName(), 'The name of the agent.'),
  fence: described(integer(0), 'The `fence` of the job.'),
  error: described(nullable(FAILURE), 'Why the pass ended early. Null if it did not.'),
  not_begun: ids('If the pass ended early: the new keys that it has not begun to deliver.'),
  stamp: described(
    nullable(
      text({
        min: 0,
        max: 64,
        pattern: STAMP.source,
        problemOf: (value) => (STAMP.test(value) ? undefined : 'must be hexadecimal'),
      }),
    ),
    'The stamp of the name server. Null if it has none, or if the pass ended early.',
  ),
  is_foreign: described(
    boolean(),
    'Whether the name server had an unknown stamp and other keys, so that nothing was changed.',
  ),
  changed: described(boolean(), 'Whether the pass changed the name server.'),
  prepared: withDefault(
    described(
      nullable(message()),
      'Why the configuration of the name server is not ready to load the file of Tsigil, which is complete. Null if it has loaded the file, or if this is not known.',
    ),
    null,
  ),
  found_drift: described(boolean(), 'Whether another program had changed the name server.'),
  problems: described(items(PROBLEM), 'The keys that the driver left out.'),
  differences: described(
    items(
      responseObject({
        kind: enumeration(['missing', 'changed', 'extra', 'other']),
        key: nullable(keyName()),
        message: message(),
      }),
    ),
    'The differences between the name server and the whole state, if `is_held` or `is_foreign`.',
  ),
  verified: described(
    integer(0, MAX_ITEMS),
    'How many of the keys in `accepted`, without those in `problems`, were verified, in their order.',
  ),
  verdicts: described(
    items(responseObject({ id: uuid(), error: FAILURE })),
    'The keys that do not behave as expected, among the verified and the removed keys.',
  ),
  open: described(nullable(FAILURE), 'Set if the name server accepts unsigned requests.'),
  unknown_keys: described(
    nullable(array(keyName(), 0, MAX_UNKNOWN)),
    'The names of keys on a PowerDNS server that the database lacks. Null if not checked.',
  ),
  key_references: withDefault(
    described(
      nullable(array(KEY_REFERENCE, 0, MAX_UNKNOWN)),
      'The keys that the configuration of the name server names outside the part of Tsigil. Null if it cannot be read.',
    ),
    null,
  ),
  ...LOG_ANSWER,
  duration_ms: described(integer(0, 3_600_000), 'The duration of the pass, in milliseconds.'),
});

export const MAX_ANSWER_BYTES = 2 * 1024 * 1024;

export type Answer = ValueOf<typeof ANSWER>;

/** A request by an agent to renew the lease of a pass. */
export const RENEWAL = object(
  {
    agent: described(hostName(), 'The name of the agent.'),
    fence: described(integer(0), 'The `fence` of the state that the pass applies.'),
  },
  true,
);

/** A request by an agent for the next pass of its name server. */
export interface AgentRequest {
  readonly agent: string;
  readonly waitMs: number;
  /** The tag of the state that the agent has. */
  readonly knownTag: string | undefined;
  /** Aborts when the agent closes the connection. */
  readonly disconnected: AbortSignal;
  /** Returns whether the token is still valid. Call this after the request has waited. */
  isValid(): Promise<boolean>;
}

export interface AgentDelivery {
  /**
   * Acquires or renews the lease of an agent, and waits for pending changes or a due check. Returns
   * a job, or undefined if nothing changed. Throws `agent_conflict` if another holder
   * has the lease, or if no agent delivers the keys. Throws `unauthenticated` if the token becomes
   * invalid while the request waits.
   */
  desired(id: string, request: AgentRequest): Promise<Job | undefined>;
  /** Returns the number of pending changes. Throws `agent_conflict` if a later pass has begun. */
  renew(id: string, renewal: ValueOf<typeof RENEWAL>): Promise<number>;
  /** Records the result of a pass. Throws `agent_conflict` if a later pass has begun. */
  observed(id: string, answer: Answer): Promise<void>;
}

/** The message to an agent if the member `delivery` of the name server is not `agent`. */
export const NO_AGENT =
  "No agent delivers the keys of this name server. Set the member 'delivery' of the name server to 'agent'";
