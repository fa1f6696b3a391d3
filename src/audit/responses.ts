import { BATCH, TRAIL_EVENT_NAMES, type AuditBatch } from './chain.ts';
import { ACTOR_KINDS, OUTCOMES, type AuditRecord } from '../core/audit-record.ts';
import {
  anyText,
  enumeration,
  integer,
  isObject,
  nullable,
  timestamp,
  type Kind,
  type ValueOf,
} from '../core/field.ts';
import { described, list, optional, responseObject, sequence } from '../core/object.ts';

const anyObject: Kind<Readonly<Record<string, unknown>>> = {
  schema: { type: 'object' },
  parse: (value) =>
    isObject(value) ? { value } : { problem: 'must be an object', validator: 'type' },
};

export const RECORD: Kind<AuditRecord> = responseObject({
  seq: described(
    integer(1),
    'The number of the record. Numbers do not follow the order of commits.',
  ),
  at: described(timestamp(), 'The time of the event.'),
  request_id: described(
    nullable(anyText()),
    'The id of the request. Null for an event without a request, and for a record that combines requests.',
  ),
  global_request_id: described(nullable(anyText()), 'The request id that the caller sent.'),
  actor_kind: described(
    enumeration(ACTOR_KINDS),
    'The kind of the actor: a token, a Keystone user, the service itself, or a command on the host of the service.',
  ),
  actor_id: described(anyText(), 'The id of the token or of the user.'),
  actor_name: described(anyText(), 'The name of the token or of the user.'),
  roles: described(list(anyText()), 'The roles of the caller.'),
  project_id: described(nullable(anyText()), 'The project of the caller.'),
  source: described(nullable(anyText()), 'The address of the caller.'),
  action: described(anyText(), 'The right that the request requires, or the name of a command.'),
  resource_type: described(nullable(anyText()), 'The collection of the resource.'),
  resource_id: described(nullable(anyText()), 'The id of the resource.'),
  resource_name: described(nullable(anyText()), 'The name of the resource.'),
  outcome: described(
    enumeration(OUTCOMES),
    'Whether the request succeeded, was refused for a missing right, or failed.',
  ),
  detail: described(
    anyObject,
    'What changed. `changes` has the value of each changed member before and after the change. An HMAC replaces each secret, and `(a token)` replaces each token.',
  ),
  batch: described(
    nullable(integer(1)),
    'The number of the batch that seals the record. Null until the service seals the record.',
  ),
});

const LINKS = responseObject({
  self: described(anyText(), 'The URL of this page.'),
  next: optional(described(anyText(), 'The URL of the next page. Absent on the last page.')),
});

export const RECORD_PAGE = described(
  responseObject({ records: described(sequence(RECORD), 'The records.'), links: LINKS }),
  'A page of audit records.',
);

export const BATCH_PAGE = described(
  responseObject({ batches: described(sequence(BATCH), 'The batches.'), links: LINKS }),
  'A page of batches.',
);

export const VERIFICATION = responseObject({
  batches: described(integer(0), 'The number of batches in this part.'),
  records: described(integer(0), 'The number of records in these batches.'),
  purged: described(
    integer(0),
    'The number of batches whose records retention has deleted. Only their links and MACs can be verified.',
  ),
  without_mac: described(
    integer(0),
    'The number of batches that were sealed without encryption and have no MAC.',
  ),
  unchecked: described(
    integer(0),
    'The number of proofs that were lost with a key of the trail: MACs of batches, or an event of the head.',
  ),
  problems: described(
    list(
      responseObject({
        batch: described(
          nullable(integer(-(2 ** 31))),
          'The number of the batch. Null for a problem of the head, and for records without a batch.',
        ),
        problem: described(anyText(), 'The problem, in a sentence.'),
      }),
    ),
    'The problems in this part, in the order of batches.',
  ),
  head: optional(
    described(
      responseObject({
        number: described(integer(0), 'The number of the last batch.'),
        hash: described(anyText(), 'The hash of the last batch.'),
        retention_days: described(nullable(integer(0)), 'The setting `audit.retentionDays`.'),
        events: described(
          list(
            responseObject({
              event: described(enumeration(TRAIL_EVENT_NAMES), 'What happened.'),
              at: described(timestamp(), 'The time.'),
              batch: described(integer(0), 'The last batch of the trail at that time.'),
              replaced: optional(
                described(
                  responseObject({
                    number: described(integer(0), 'The number of its last batch.'),
                    hash: described(anyText(), 'The hash of its last batch.'),
                  }),
                  'The end of the trail that a restore replaced.',
                ),
              ),
            }),
          ),
          'What happened to the trail as a whole.',
        ),
      }),
      'The head of the trail. Only in the last line, which shows that the verification is complete.',
    ),
  ),
});

/** One part of the verification of a trail. */
export type TrailVerification = ValueOf<typeof VERIFICATION>;
export type TrailProblem = TrailVerification['problems'][number];

export const EXAMPLE_VERIFICATION: TrailVerification = {
  batches: 17,
  records: 4712,
  purged: 0,
  without_mac: 0,
  unchecked: 0,
  problems: [],
  head: {
    number: 17,
    hash: '7d1e9a50c3f2b4a6958770123456789abcdef0123456789abcdef0123456789a',
    retention_days: 400,
    events: [],
  },
};

export const EXAMPLE_RECORD: AuditRecord = {
  seq: 4711,
  at: '2026-11-21T09:30:00.123456',
  request_id: 'req-3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
  global_request_id: null,
  actor_kind: 'token',
  actor_id: '9b1f0a52-3c44-4c36-9a3a-0c8f5c1f7a10',
  actor_name: 'terraform',
  roles: ['keymanager'],
  project_id: null,
  source: '192.0.2.7',
  action: 'tsigkeys:update',
  resource_type: 'tsigkeys',
  resource_id: '5d1c7f1e-93c4-4b43-8f11-5e9f8a2d7c33',
  resource_name: 'transfer.example.',
  outcome: 'success',
  detail: { changes: { secret: ['hmac:Qz3rTk1ZbNwa', 'hmac:9fKweX0cUvR2'] } },
  batch: 17,
};

export const EXAMPLE_BATCH: AuditBatch = {
  number: 17,
  at: '2026-11-21T09:30:01.000000',
  count: 3,
  first_seq: 4710,
  last_seq: 4712,
  previous: '0f4c1cb1b4f66b3e0bb4b4b4f0f3a6c9f5a1d7e8c2b3a4958677a8b9c0d1e2f3',
  hash: '7d1e9a50c3f2b4a6958770123456789abcdef0123456789abcdef0123456789a',
  mac: 'q1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6j7k8l9z0x1c',
  key_number: 2,
};
