import { REPORTING_UNKNOWN_KEYS } from '../brands/brands.ts';
import { OPERATIONS } from '../brands/key-log.ts';
import {
  anyText,
  enumeration,
  integer,
  list,
  nullable,
  text,
  timestamp,
  type ValueOf,
} from '../core/field.ts';
import { described, responseObject } from '../core/object.ts';
import { defineFields } from '../core/resource.ts';
import { serviceField, serviceTime } from '../core/shared-fields.ts';

export const SERVER_STATES = [
  'live',
  'pending',
  'prepared',
  'paused',
  'failed',
  'blocked',
  'held',
  'open',
] as const;

export type ServerState = (typeof SERVER_STATES)[number];

export type FoundState = Exclude<ServerState, 'paused'>;

/** A line of the operator's that names a key. */
export const KEY_REFERENCE = responseObject({
  key: described(
    text({ min: 1, max: 255 }),
    'The name of the key in lower case, without a trailing dot.',
  ),
  place: described(
    text({ min: 1, max: 4200 }),
    'The first place that names the key, such as a file and a line.',
  ),
});

/** What the log of a name server shows of the use of keys. */
export const EVIDENCE = responseObject({
  problem: described(
    nullable(text({ min: 1, max: 4200 })),
    'Why the log cannot be read. Null if it is read.',
  ),
  shown: described(
    list(
      responseObject({
        operation: enumeration(OPERATIONS),
        since: described(timestamp(), 'The time since when the log has shown it at least daily.'),
        last: described(timestamp(), 'The time of the last line.'),
      }),
      0,
      OPERATIONS.length,
    ),
    "What the log has shown, if only of Tsigil's own queries.",
  ),
});

export type Evidence = ValueOf<typeof EVIDENCE>;

const NAMES = list(anyText(), 0, 1000);

export const statusFields = defineFields({
  state: serviceField(
    enumeration(SERVER_STATES),
    'pending',
    '`live`: the last attempt succeeded. Keys that the name server cannot have, or that its zones do not admit, are not in `keys_live`. `pending`: changes are not delivered yet. `prepared`: the file of Tsigil is complete, but the configuration of the name server does not include it yet, or also defines one of its keys. `paused`: delivery is paused. `failed`: the last attempt failed. `blocked`: an operator must confirm a change of the name server that removes more than 10 keys, or their rights, and more than half of all of these. Keys that callers delete, move or change meanwhile are delivered. `held`: another or a newer database delivered the keys last, for example before a backup was restored, so only new changes are delivered until an operator resumes delivery. `open`: the name server accepted an unsigned transfer or update.',
    'live',
  ),
  keys_wanted: serviceField(
    integer(0),
    0,
    'The number of keys that the name server should have, including those that cannot be delivered to it.',
    12,
  ),
  keys_live: serviceField(integer(0), 0, 'The number of keys that were verified.', 12),
  applied_at: serviceTime('The time of the last change to the name server.'),
  verified_at: serviceTime(
    'The time when the service last verified that the name server has all keys.',
  ),
  pending_since: serviceTime(
    'The time of the oldest pending change. Null if no change is pending.',
  ),
  attempts: serviceField(integer(0), 0, 'The number of failed attempts since the last success.', 0),
  next_attempt_at: serviceTime(
    'The time of the next attempt after a failure.',
    '2030-01-31T12:00:05.000000',
  ),
  held: serviceField(
    nullable(
      responseObject({
        added: described(integer(0), 'The number of keys that the name server lacks.'),
        removed: described(integer(0), 'The number of keys that only the name server has.'),
        changed: described(
          integer(0),
          'The number of keys that the name server has with another secret, algorithm, right or zone.',
        ),
        added_keys: described(NAMES, 'The names of these keys, at most 100.'),
        removed_keys: described(NAMES, 'The names of these keys, at most 100.'),
        changed_keys: described(NAMES, 'The names of these keys, at most 100.'),
      }),
    ),
    null,
    'What resumed delivery would change on the name server. Null if delivery is not held.',
    null,
  ),
  unknown_keys: serviceField(
    NAMES,
    [],
    `The names of keys on a ${REPORTING_UNKNOWN_KEYS} server that the database lacks, at most 1,000.`,
    ['former-key'],
  ),
  key_references: serviceField(
    nullable(list(KEY_REFERENCE, 0, 1000)),
    null,
    'The keys of Tsigil that its configuration names outside the part of Tsigil, so that the server would no longer load it or work as before without them, at most 1,000, each with the file and the line or another place. On a PowerDNS server, the keys in `unknown_keys` that zones name follow. Only by force does a change take such a key from the server. Null if the service or the agent cannot read the configuration.',
    [{ key: 'transfer.example', place: '/etc/bind/named.conf:12' }],
  ),
  evidence: serviceField(
    nullable(EVIDENCE),
    null,
    'What the log of the name server has shown of the use of keys. Null if the service or the agent has no option `log` for it.',
    {
      problem: null,
      shown: [
        {
          operation: 'query',
          since: '2030-01-01T12:00:00.000000',
          last: '2030-01-31T12:00:00.000000',
        },
      ],
    },
  ),
  error_code: serviceField(
    nullable(text({ min: 1, max: 64 })),
    null,
    'The reason for the state, such as `unreachable`, `refused_by_server` or `name_taken`.',
    'unreachable',
  ),
  error: serviceField(
    nullable(text({ min: 1, max: 1000 })),
    null,
    'The reason in a sentence, without secrets.',
    'connection refused',
  ),
});
