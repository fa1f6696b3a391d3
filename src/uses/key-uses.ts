import { findBrand } from '../brands/brands.ts';
import { OPERATIONS, OUTCOMES, type Operation } from '../brands/key-log.ts';
import { EXAMPLE_ID } from '../core/error-entry.ts';
import { anyText, enumeration, integer, nullable, timestamp, type ValueOf } from '../core/field.ts';
import { described, list, responseObject } from '../core/object.ts';
import type { NameServer } from '../resources/name-server.ts';
import { DAY_MS, earlier } from '../core/text/timestamps.ts';
import type { KeyPlace, KeyUses } from './ports.ts';

export const KEY_USES = responseObject({
  key_id: described(anyText(), 'The id of the key.'),
  servers: described(
    list(
      responseObject({
        name_server: described(anyText(), 'The name of the name server.'),
        state: described(
          enumeration(['seen', 'not_seen', 'unknown']),
          '`seen`: its log shows that a client has the key. `not_seen`: its log shows every use, and none of this key. `unknown`: its log does not show every use, so the key may be in use.',
        ),
        since: described(
          nullable(timestamp()),
          'The time since when its log shows every use. Null if it does not. A rotation counts on a log that shows a whole day.',
        ),
        reason: described(
          nullable(anyText()),
          'Why its log does not show every use, and what to switch on. Null if it does.',
        ),
        uses: described(
          list(
            responseObject({
              operation: described(
                enumeration(OPERATIONS),
                'What the key was used for. `refresh`: by the name server itself, as a secondary. `request`: of any kind.',
              ),
              outcome: described(
                enumeration(OUTCOMES),
                '`denied`: the client has the key, but the key lacks the right. `refused`: the name server lacked the key, or the client has another secret, so this is no use of the key.',
              ),
              address: described(anyText(), 'The client. Empty if the log does not state it.'),
              first_at: described(timestamp(), 'The minute of the first use.'),
              last_at: described(timestamp(), 'The minute of the last use.'),
              count: described(integer(1), 'The number of lines in the log.'),
            }),
          ),
          'The uses in the log, the last first. At most 1,000 are stored for a name server.',
        ),
      }),
    ),
    'The name servers that should have the key, or still have it.',
  ),
});

export type ShownUses = ValueOf<typeof KEY_USES>;

type ServerUses = ShownUses['servers'][number];

/** Returns what the logs of the name servers of a key show. `now` is a timestamp. */
export function usesOf(
  keyId: string,
  servers: readonly KeyPlace[],
  { uses, full }: KeyUses,
  now: string,
): ShownUses {
  return {
    key_id: keyId,
    servers: servers.map(({ server, status }): ServerUses => {
      const own = uses.filter((use) => use.keyId === keyId && use.serverId === server.id);
      const complete = completeSince(server, status.isServed, full.has(server.id), now);
      const [since, reason] =
        'since' in complete ? [complete.since, null] : [null, complete.reason];
      const unseen = since === null ? 'unknown' : 'not_seen';
      return {
        name_server: server.name,
        state: own.some(isUse) ? 'seen' : unseen,
        since,
        reason,
        uses: own.map(({ operation, outcome, address, first_at, last_at, count }) => ({
          operation,
          outcome,
          address,
          first_at,
          last_at,
          count,
        })),
      };
    }),
  };
}

/** Returns whether a log that shows every use since then shows a whole day, as a rotation needs. */
export function showsWholeDay(since: string, now: string, dayMs = DAY_MS): boolean {
  return since <= earlier(now, dayMs);
}

/** Returns what a log shows, as a clause. */
export function coverageText(since: string, now: string, dayMs = DAY_MS): string {
  const text = `its log shows every use since ${since}`;
  return showsWholeDay(since, now, dayMs) ? text : `${text}, and a rotation needs a whole day`;
}

/** Returns since when no name server has seen a key, and how far their logs show that. */
export function unusedSince({ servers }: ShownUses) {
  const knownServers = servers.flatMap(({ name_server: name, since }) =>
    since === null ? [] : [{ name_server: name, since }],
  );
  const unknownServers = servers
    .filter(({ since }) => since === null)
    .map((each) => each.name_server);
  const times = servers.flatMap(({ since, uses }) => [
    ...(since === null ? [] : [since]),
    ...uses.filter(isUse).map(({ last_at: last }) => last),
  ]);
  const last = latest(times);
  return {
    unused_since: unknownServers.length > 0 || last === '' ? null : last,
    uses_unknown_on: unknownServers,
    uses_known_since: knownServers,
  };
}

/** Returns the latest of some timestamps, or an empty text. */
function latest(times: readonly string[]): string {
  return times.reduce((one, other) => (one > other ? one : other), '');
}

/** Returns whether a line shows that a client has the key. */
export function isUse({ outcome }: Pick<ServerUses['uses'][number], 'outcome'>): boolean {
  return outcome !== 'refused';
}

function completeSince(
  { name, driver, rights, evidence }: NameServer,
  isServed: boolean,
  isFull: boolean,
  now: string,
): { readonly since: string } | { readonly reason: string } {
  const brand = findBrand(driver);
  if (brand === undefined) return { reason: `The driver '${driver}' is unknown.` };
  const needed: Operation[] = [];
  for (const right of rights) {
    const complete = brand.log.complete[right];
    if (typeof complete === 'string') return { reason: `${complete}.` };
    needed.push(...complete);
  }
  if (evidence === null)
    return {
      reason: `No log is read. Set the option 'log' of the driver. ${brand.log.setup}`,
    };
  if (!isServed)
    return { reason: 'No process or agent serves the name server, so none reads its log.' };
  if (evidence.problem !== null)
    return { reason: `Its log cannot be read. Run: tsigil nameserver show ${name}` };
  if (isFull) return { reason: 'It has more uses than are stored.' };
  const times: string[] = [];
  for (const operation of needed) {
    const shown = evidence.shown.find((each) => each.operation === operation);
    // A log that has shown nothing of a kind for a day no longer shows every use.
    if (shown === undefined || shown.last < earlier(now, DAY_MS))
      return {
        reason: `Its log shows no ${operation}, not even those of Tsigil. ${brand.log.setup}`,
      };
    times.push(shown.since);
  }
  return { since: latest(times) };
}

export const USES_EXAMPLE: ShownUses = {
  key_id: EXAMPLE_ID,
  servers: [
    {
      name_server: 'ns1',
      state: 'seen',
      since: '2030-01-01T12:00:00.000000',
      reason: null,
      uses: [
        {
          operation: 'transfer',
          outcome: 'accepted',
          address: '192.0.2.54',
          first_at: '2030-01-02T12:00:00.000000',
          last_at: '2030-01-31T12:00:00.000000',
          count: 30,
        },
      ],
    },
  ],
};
