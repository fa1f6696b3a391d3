import { OPERATIONS, OUTCOMES } from '../brands/key-log.ts';
import {
  array,
  enumeration,
  integer,
  nullable,
  text,
  timestamp,
  type ValueOf,
} from '../core/field.ts';
import { described, responseObject, withDefault } from '../core/object.ts';
import type { TestedKey } from '../dns/test-ports.ts';
import { EVIDENCE, type Evidence } from '../resources/name-server-status.ts';

/** A place in a file: its device, its number there, and an offset. */
const POSITION = text({ min: 1, max: 64 });

/** More requests than a log can show of one client. Sums stop at it. */
export const MAX_COUNT = 1_000_000_000_000;

const ADDRESS_FORM = /^[0-9a-fA-F.:]*$/;
const ADDRESS = text({
  min: 0,
  max: 45,
  pattern: ADDRESS_FORM.source,
  problemOf: (value) => (ADDRESS_FORM.test(value) ? undefined : 'must be an IP address'),
});

/** The uses of one key that lines of the log state, since the last answer. */
const KEY_USE = responseObject({
  key: described(
    text({ min: 0, max: 255 }),
    'The name of the key in lower case, without a trailing dot.',
  ),
  operation: enumeration(OPERATIONS),
  outcome: enumeration(OUTCOMES),
  address: described(ADDRESS, 'The client. Empty if the log does not state it.'),
  first_at: timestamp(),
  last_at: timestamp(),
  count: integer(1, MAX_COUNT),
});

export type KeyUse = ValueOf<typeof KEY_USE>;

/** The maximum number of uses in an answer, and of those stored for a name server. */
export const MAX_USES = 1000;

/** What the job of a pass says of the log of its name server. */
export const LOG_JOB = {
  evidence: withDefault(
    described(nullable(EVIDENCE), 'What the log of the name server has shown so far.'),
    null,
  ),
  log_position: withDefault(
    described(nullable(POSITION), 'How far the log was read. Null to begin at its end.'),
    null,
  ),
};

/** What the answer of a pass says of it. */
export const LOG_ANSWER = {
  uses: withDefault(
    described(
      array(KEY_USE, 0, MAX_USES),
      'The uses of keys that the log of the name server has shown since the last answer.',
    ),
    [],
  ),
  evidence: withDefault(
    described(nullable(EVIDENCE), 'What the log has shown. Null if the agent reads none.'),
    null,
  ),
  log_position: withDefault(described(nullable(POSITION), 'How far the log was read.'), null),
};

/** What a pass reports of the log of its name server. */
export interface LogRecord {
  readonly uses: readonly KeyUse[];
  readonly evidence: Evidence | null;
  readonly log_position: string | null;
}

export const NO_LOG: LogRecord = { uses: [], evidence: null, log_position: null };

/** Keys by their names in comparison form. A key whose secret is not known is null. */
export type FollowedKeys = ReadonlyMap<string, TestedKey | null>;

/** Follows the log of one name server, and counts the uses of keys. Keeps no line. */
export interface LogReader {
  /**
   * Counts the uses of these keys from now on. The first call begins to read, at `position`, or at the
   * end if the file is another one by now.
   */
  follow(keys: FollowedKeys, evidence: Evidence | null, position: string | null): void;
  /** Returns what was not acknowledged. Never waits for the file. */
  take(): LogRecord;
  /** Forgets what the last `take` returned, because it is stored. */
  acknowledge(): void;
  close(): Promise<void>;
}

/** Creates the reader of the log that the options of a driver name. Undefined if they name none. */
export type LogReaderOf = (server: {
  readonly driver: string;
  readonly local: unknown;
}) => LogReader | undefined;
