import { KEY_GRANTS, OPENING_KEYS, type Grant } from '../../resources/grants.ts';
import type { ResourceType } from '../../core/resource.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { zone } from '../../resources/zone.ts';
import { counted } from '../../core/text/counted.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { toggle } from '../../cli/flags/flag.ts';
import { isWhole } from '../../cli/flags/flags.ts';
import { grantFlags, isWider, readChangedGrants } from '../../cli/flags/grant-flags.ts';
import { CommandError } from '../../cli/output/command-error.ts';
import { printItem, printList } from '../../cli/output/output.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import { writeLine } from '../../cli/output/write-line.ts';
import { callFor, callForTagged, type Connection } from '../../cli/service/client.ts';
import { findPath, nameOrId, withHints, type Item } from '../../cli/service/resource-requests.ts';
import { waitUntilDelivered } from '../../delivery/commands/deliveries.ts';

const NAMED_ZONES = 10;

export const keyGrants = defineCommand({
  name: 'grants',
  description:
    'show what a tsigkey may do on its name servers, and in which zones; with flags, replace it',
  argument: ['<tsigkey>', 'id or name of the tsigkey'],
  flags: {
    ...grantFlags(
      'let the key work only in this zone of its pool (name or id); repeat the flag for more zones; without --right, the key keeps its rights',
    ),
    allZones: toggle(
      'let the key work in every zone of its scope; without it and --zone, the key keeps its zones',
      { conflicts: ['zone', 'none'] },
    ),
    reset: toggle('let the key open all of its scope, with every right', {
      conflicts: ['zone', 'allZones', 'right', 'none'],
    }),
    wait: toggle('wait up to 60 seconds until every name server has the change'),
  },
  asks: 'before a limited key gets rights in every zone of its scope',
  columns: ['rights', 'zones'],
  examples: [
    'tsigil tsigkey grants transfer',
    'tsigil tsigkey grants transfer --zone example.org --zone example.net --right transfer  # let the key transfer these two zones, and do nothing else',
    'tsigil tsigkey grants transfer --right transfer --right update  # let the key do both in the zones that it has',
    'tsigil tsigkey grants transfer --none',
    'tsigil tsigkey grants transfer --reset --wait',
  ],
  async run({ argument: idOrName, columns, confirm, connect, flags, terminal }) {
    const connection = await connect();
    const path = await withHints(tsigkey, () => findPath(connection, tsigkey, idOrName));
    const { value: current, tag } = await withHints(tsigkey, () =>
      callForTagged(KEY_GRANTS, connection, `${path}/grants`),
    );
    const changed = await readChangedGrants(connection, flags, current.grants);
    if (changed !== undefined && isWider(changed, current.grants)) {
      const before = await openedText(connection, current.grants);
      const after = await openedText(connection, changed);
      writeLine(terminal.err, `The key gets more than before: ${after} (before: ${before})`);
      const opensScope = changed === null || changed.some(({ zones }) => zones === 'all');
      if (opensScope) await confirm('Continue?');
    }
    // What another caller changed meanwhile must not come back.
    const headers = { ...connection.headers, ...(tag === undefined ? {} : { 'if-match': tag }) };
    const unchanged = { ...connection, headers };
    const { grants } =
      changed === undefined
        ? current
        : await withHints(tsigkey, () =>
            callFor(KEY_GRANTS, unchanged, 'PUT', `${path}/grants`, { grants: changed }),
          );
    // Programs get what the API returns, because null differs from an empty list.
    if (isWhole(flags)) printItem(terminal, { grants }, ['grants'], flags);
    else printList(terminal, await shownRows(connection, grants), columns, flags);
    if (flags.wait === true) await waitUntilDelivered(connection, path, terminal);
  },
});

const WHOLE_SCOPE = 'all of its scope';
const EVERY_RIGHT = { rights: 'all that the name server gives', zones: WHOLE_SCOPE };
const NOTHING = { rights: 'nothing', zones: 'none' };

async function shownRows(
  connection: Connection,
  grants: readonly Grant[] | null,
): Promise<readonly Item[]> {
  if (grants === null) return [EVERY_RIGHT];
  if (grants.length === 0) return [NOTHING];
  const rows: Item[] = [];
  for (const { rights, zones } of grants)
    rows.push({
      rights: rights.join(', '),
      zones: zones === 'all' ? WHOLE_SCOPE : await namesOf(connection, zones),
    });
  return rows;
}

async function namesOf(connection: Connection, ids: readonly string[]): Promise<string> {
  const names = [...ids];
  for (const [index, id] of ids.slice(0, NAMED_ZONES).entries())
    names[index] = await nameOrId(connection, zone, id);
  return firstOf(names, NAMED_ZONES, String).join(', ');
}

async function openedText(
  connection: Connection,
  grants: readonly Grant[] | null,
): Promise<string> {
  if (grants?.length === 0) return 'nothing';
  const rows = await shownRows(connection, grants);
  return rows.map(({ rights, zones }) => `${String(rights)} in ${String(zones)}`).join('; ');
}

/** Reports what a key opens, if it has grants of its own. */
export async function reportGrants(
  connection: Connection,
  key: Item,
  { err }: Pick<Terminal, 'err'>,
): Promise<void> {
  const path = `/v2/${tsigkey.collection}/${String(key.id)}/grants`;
  const { grants } = await callFor(KEY_GRANTS, connection, 'GET', path);
  if (grants === null) return;
  const shown = await openedText(connection, grants);
  writeLine(err, `The key opens only: ${shown}`);
}

/** Returns the keys that open the zone, or zones of the name server, at `path`. */
export function openingKeys(connection: Connection, path: string) {
  return callFor(OPENING_KEYS, connection, 'GET', `${path}/${tsigkey.collection}`);
}

/** `countsZones` is for a name server. Reports nothing to callers that may not list keys. */
export function reportOpeningKeys({ collection }: ResourceType, countsZones: boolean) {
  const placeOf = (zones: number | 'all') =>
    !countsZones || zones === 'all' ? '' : ` in ${counted(zones, 'zone')}`;
  return async (connection: Connection, { id }: Item, { err }: Pick<Terminal, 'err'>) => {
    try {
      const { keys, more } = await openingKeys(connection, `/v2/${collection}/${String(id)}`);
      const shown = keys.map(({ name, opens }) => {
        const parts = opens.map(({ rights, zones }) => `${rights.join(', ')}${placeOf(zones)}`);
        return `${name} (${parts.join('; ') || 'nothing'})`;
      });
      const rest = more === 0 ? '' : `, and ${more} more`;
      writeLine(err, `Keys: ${shown.join(', ') || 'none'}${rest}`);
    } catch (error) {
      if (!(error instanceof CommandError) || error.status !== 403) throw error;
    }
  };
}
