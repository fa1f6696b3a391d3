import { anyText, boolean, enumeration, integer, nullable, timestamp } from '../model/field.ts';
import { described, responseObject, sequence } from '../model/object.ts';
import { DELIVERY_STATES } from './status.ts';

const FAILURE = responseObject({
  code: described(anyText(), 'The reason, such as `unreachable`.'),
  message: described(anyText(), 'The reason in words, without secrets.'),
});

const STAMP = nullable(timestamp());

/** A key on its name servers. */
export const DELIVERIES = responseObject({
  key_id: described(anyText(), 'The id of the key.'),
  state: described(
    enumeration([...DELIVERY_STATES, 'none']),
    'The worst state on any name server. `none` if the pool of the key has no name server.',
  ),
  version: described(integer(1), 'The version of the key. It grows with each change.'),
  servers: described(
    sequence(
      responseObject({
        name_server: described(anyText(), 'The name of the name server.'),
        state: described(
          enumeration(DELIVERY_STATES),
          '`delivered` only if signed queries verified this version.',
        ),
        delivered_version: described(integer(0), 'The version on the name server. 0 for none.'),
        applied_at: described(STAMP, 'When this version reached the name server.'),
        verified_at: described(STAMP, 'When a signed query last succeeded.'),
        attempts: described(integer(0), 'The number of failed attempts in a row.'),
        next_attempt_at: described(STAMP, 'The time of the next attempt after a failure.'),
        error: described(nullable(FAILURE), 'The failure.'),
      }),
    ),
    'The name servers that should have the key, or still have it.',
  ),
});

/** The requirements of the delivery to a name server. */
export const NAME_SERVER_CHECK = responseObject({
  requirements: described(
    sequence(
      responseObject({
        requirement: described(anyText(), 'What the delivery needs, in a sentence.'),
        ok: described(boolean(), 'Whether it is met.'),
        problem: described(nullable(anyText()), 'What is wrong. Null if it is met.'),
        hint: described(nullable(anyText()), 'What to do next.'),
      }),
    ),
    'All requirements.',
  ),
});
