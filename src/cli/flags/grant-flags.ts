import { isDeepStrictEqual } from 'node:util';
import { InvalidArgumentError } from 'commander';
import { RIGHTS, type Right } from '../../access/rights.ts';
import { commonGrants, grantsIn, type Grant } from '../../resources/grants.ts';
import { pool } from '../../resources/pool.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { zone } from '../../resources/zone.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { call, type Connection } from '../service/client.ts';
import { listIn, readEverywhere } from '../service/resource-requests.ts';
import { collect, parsed, text, texts, toggle } from './flag.ts';
import { referredId } from './references.ts';
import type { FlagValues } from './resource-command.ts';

export function grantFlags(zoneDescription: string, excluded: readonly string[] = []) {
  return {
    zone: texts('<zone>', zoneDescription, { conflicts: excluded }),
    right: {
      ...parsed(
        '<right>',
        'let the key do only this: transfer or update; repeat the flag for both',
        readRight,
      ),
      choices: RIGHTS,
    },
    none: toggle('let the key open nothing, such as a key that only requests', {
      conflicts: ['right'],
    }),
  };
}

function readRight(right: string, earlier: readonly string[] | undefined): readonly string[] {
  if (!RIGHTS.some((each) => each === right))
    throw new InvalidArgumentError(`Use one of: ${RIGHTS.join(', ')}.`);
  return collect(right, earlier);
}

const STATED_SCOPE = ['scope', 'resourceId'];

export const PLACE_FLAGS = {
  pool: text('<pool>', 'apply the key to every zone of this pool (name or id)', {
    conflicts: STATED_SCOPE,
  }),
  ...grantFlags(
    'apply the key to this zone (name or id); beside --pool, or repeated, only to these zones of the pool',
    STATED_SCOPE,
  ),
};

/**
 * Returns the members of a new key that the flags of `PLACE_FLAGS` set. One `--zone` without
 * `--pool` is the scope of the key. Throws `CommandError`.
 */
export async function readPlace(
  connection: Connection,
  flags: FlagValues,
): Promise<Readonly<Record<string, unknown>>> {
  const zones = await readZones(connection, flags);
  const { pool: named, right } = flags;
  const isGranted = zones.length > 1 || (zones.length === 1 && named !== undefined);
  const hasGrants = flags.none === true || isGranted || right !== undefined;
  const grants: readonly Grant[] =
    flags.none === true ? [] : [grantOf(flags, isGranted ? zones : [])];
  return {
    ...(await placeOf(connection, named, zones, isGranted)),
    ...(hasGrants ? { grants } : {}),
  };
}

async function placeOf(
  connection: Connection,
  named: unknown,
  [first]: readonly string[],
  isGranted: boolean,
): Promise<Readonly<Record<string, string>>> {
  const { references } = tsigkey;
  if (typeof named === 'string')
    return references?.pool?.fields(await referredId(connection, pool, named)) ?? {};
  if (first === undefined) return {};
  if (!isGranted) return references?.zone?.fields(first) ?? {};
  const found = await readEverywhere(connection, (from) => call(from, 'GET', `/v2/zones/${first}`));
  return references?.pool?.fields(String(found.pool_id)) ?? {};
}

/** Returns the ids of the zones that `--zone` names. Throws `CommandError`. */
async function readZones(connection: Connection, flags: FlagValues): Promise<string[]> {
  const ids: string[] = [];
  for (const text of listIn(flags.zone)) ids.push(await referredId(connection, zone, text));
  return [...new Set(ids)];
}

/** Returns the grant of the flags: without `--right` every right, without zones all of the scope. */
function grantOf({ right }: FlagValues, zones: readonly string[]): Grant {
  const rights: readonly Right[] = RIGHTS.filter((each) => listIn(right).includes(each));
  return {
    rights: rights.length === 0 ? RIGHTS : rights,
    zones: zones.length === 0 ? 'all' : zones,
  };
}

/**
 * Returns the grants that the flags of a change set: null for `--reset`, or undefined if no flag
 * changes them. Without `--right` or a flag for zones, the key keeps its own. Throws `CommandError`.
 */
export async function readChangedGrants(
  connection: Connection,
  flags: FlagValues,
  current: readonly Grant[] | null,
): Promise<readonly Grant[] | null | undefined> {
  if (flags.reset === true) return null;
  if (flags.none === true) return [];
  const namesZones = flags.zone !== undefined || flags.allZones === true;
  if (!namesZones && flags.right === undefined) return undefined;
  const named = grantOf(flags, await readZones(connection, flags));
  if (current === null || (namesZones && flags.right !== undefined)) return [named];
  const [own, ...others] = current;
  if (own === undefined || others.length > 0) {
    const opened = own === undefined ? 'nothing' : 'different zones with different rights';
    throw new CommandError(
      EXIT.usage,
      `The key opens ${opened}, so it can keep neither its zones nor its rights. Nothing was changed.`,
      'Use --right together with --zone or --all-zones.',
    );
  }
  return [namesZones ? { ...own, zones: named.zones } : { ...own, rights: named.rights }];
}

/** Returns whether grants permit what earlier grants do not. */
export function isWider(changed: readonly Grant[] | null, earlier: readonly Grant[] | null) {
  if (changed === null || earlier === null) return earlier !== null;
  const wanted = grantsIn(changed);
  const common = commonGrants(grantsIn(earlier), wanted) ?? wanted;
  return !isDeepStrictEqual(common, wanted);
}
