import { isDeepStrictEqual } from 'node:util';
import type { DefinedKey, Finding, ServerConfiguration } from '../../access/access.ts';
import { keyFindings } from '../../access/warnings.ts';
import { ALGORITHM_NAMES } from '../../dns/algorithms.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { isSameKey, type Key } from '../../formats/key.ts';
import { isOwnKey, OWN_KEY } from '../../formats/own-keys.ts';
import type { KeyScope } from '../../formats/reader.ts';
import {
  commonGrants,
  grantList,
  grantsIn,
  KEY_GRANTS,
  type Grant,
  type Grants,
} from '../../resources/grants.ts';
import { keyWarnings } from '../../resources/tsigkey.ts';
import { zone } from '../../resources/zone.ts';
import { call, callFor, type Connection } from '../../cli/service/client.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import type { Kind, Outcome, Report } from '../../cli/output/import-report.ts';
import { plainCell } from '../../cli/output/output.ts';
import { keyOf } from './key-requests.ts';
import { listItems, readEverywhere, type Item } from '../../cli/service/resource-requests.ts';

/** The size of a request that every Designate and Tsigil service accepts. */
const ACCEPTED_BYTES = 90_000;

interface UsableKey {
  readonly key: Key;
  /** Absent if the import says what its keys apply to. */
  readonly appliesTo?: KeyScope;
}

/** A key from a file or server with its place, or why it can't be imported. */
export interface FoundKey {
  readonly place: string;
  readonly found: UsableKey | { readonly problem: string } | { readonly leftOut: string };
}

/**
 * Returns the keys with the scope of an import in place of their own. Refuses a key of one zone that
 * would become one of a whole pool.
 */
export function withScope(keys: readonly FoundKey[], scope: string): FoundKey[] {
  return keys.map(({ place, found }) => {
    if (!('key' in found)) return { place, found };
    const { key, appliesTo } = found;
    if (scope !== 'POOL' || appliesTo?.scope !== 'ZONE') return { place, found: { key } };
    const problem = `${key.name}: the key applies to one zone, and would open every zone of the pool; import it with --zone, or without --pool`;
    return { place, found: { problem } };
  });
}

/** Returns the usable keys that are not Tsigil's own. */
export function definedKeys(keys: readonly FoundKey[]): (DefinedKey & UsableKey)[] {
  return keys.flatMap(({ place, found }) =>
    'key' in found && !isOwnKey(comparisonForm(found.key.name)) ? [{ place, ...found }] : [],
  );
}

/**
 * Returns what needs a person in the keys of an import, also in those that it leaves out. `existing`
 * are the keys of the service.
 */
export function importFindings(
  keys: readonly FoundKey[],
  configuration: ServerConfiguration | undefined,
  existing: readonly Item[],
): readonly Finding[] {
  const others = existing.map(({ name, secret }) => ({
    name: String(name),
    secret: String(secret),
  }));
  return keyFindings(configuration?.keys ?? definedKeys(keys), others, (key) => {
    const algorithm = ALGORITHM_NAMES.find((name) => name === key.algorithm);
    return algorithm === undefined ? [] : keyWarnings({ ...key, algorithm });
  });
}

/** What new keys apply to, unless they have a scope of their own. */
export interface KeyImport {
  readonly scope: string;
  readonly resourceId: string;
  /** True to replace the algorithm and secret of existing keys. */
  readonly update: boolean;
}

/** What an import does with one key: a request to the service, or only a line of the report. */
export interface Step {
  readonly place: string;
  readonly outcome: Outcome;
  /** The name of the key, or why it is not imported. */
  readonly text: string;
  /** Absent for a key. */
  readonly kind?: Kind;
  /** The name of the key in comparison form. Absent for what is not imported. */
  readonly key?: string;
  /** What the key opens unless the request changes it, if the source says what its keys open. */
  readonly former?: Grants | null;
  /** The pool that a new key applies to. */
  readonly poolId?: string;
  readonly request?: () => Promise<unknown>;
}

/** What the keys of an import may do, if their source says it. Keys are in comparison form. */
export interface ImportedGrants {
  /** Returns the grants of a key in the zones that exist by now. */
  grantsOf(key: string): readonly Grant[];
  /** Returns whether the import creates no zone in which a key gets a right. */
  isComplete(key: string): boolean;
}

/**
 * Compares keys with those of the service, which are `current`, and returns a step for each. Changes
 * nothing. Throws `CommandError` if the service cannot be reached.
 */
export async function planImport(
  connection: Connection,
  keys: readonly FoundKey[],
  current: readonly Item[],
  wanted: KeyImport,
  grants?: ImportedGrants,
): Promise<Step[]> {
  const existing = new Map(current.map((item) => [comparisonForm(String(item.name)), item]));
  const seen = new Map<string, string>();
  const planOne = async ({ place, found }: FoundKey): Promise<Omit<Step, 'place'>> => {
    if ('leftOut' in found) return { outcome: 'left out', text: found.leftOut };
    if ('problem' in found) return { outcome: 'invalid', text: found.problem };
    const { key } = found;
    const name = comparisonForm(key.name);
    if (isOwnKey(name)) return { outcome: 'left out', text: `${key.name}: ${OWN_KEY}` };
    const earlier = seen.get(name);
    if (earlier !== undefined)
      return { outcome: 'invalid', text: `${key.name} is a duplicate of the key at ${earlier}` };
    seen.set(name, place);
    return { key: name, ...(await planKey(connection, found, existing.get(name), wanted, grants)) };
  };
  const steps: Step[] = [];
  for (const each of keys) steps.push({ place: each.place, ...(await planOne(each)) });
  return steps;
}

const NOTHING = grantsIn([]);

async function planKey(
  connection: Connection,
  { key, appliesTo }: UsableKey,
  current: Item | undefined,
  wanted: KeyImport,
  grants?: ImportedGrants,
): Promise<Omit<Step, 'place'>> {
  const { scope, resourceId, update } = { ...wanted, ...appliesTo };
  const { name, algorithm, secret } = key;
  const own = comparisonForm(name);
  const named = {
    ...connection,
    warn: (message: string) => connection.warn?.(`${name}: ${message}`),
  };
  if (current === undefined) {
    const request = async () => {
      const body = { ...key, scope, resource_id: resourceId };
      const granted = grants && { grants: grantList(grantsIn(grants.grantsOf(own))) };
      const whole = { ...body, ...granted };
      if (Buffer.byteLength(JSON.stringify(whole)) <= ACCEPTED_BYTES)
        return call(named, 'POST', '/v2/tsigkeys', whole);
      // Only a PUT accepts many zones, and until then the key must open nothing.
      const { id } = await call(named, 'POST', '/v2/tsigkeys', { ...body, grants: [] });
      return call(named, 'PUT', `/v2/tsigkeys/${String(id)}/grants`, granted);
    };
    const ofPool = scope === 'POOL' ? { poolId: resourceId } : {};
    return { outcome: 'added', text: name, former: NOTHING, ...ofPool, request };
  }
  const isElsewhere = current.scope !== scope || current.resource_id !== resourceId;
  if (isElsewhere && (grants ?? appliesTo) !== undefined) {
    const text = `${name} already exists for another pool or zone; it was not changed`;
    return { outcome: 'different', text };
  }
  const path = `/v2/tsigkeys/${String(current.id)}`;
  const isSame = isSameKey(keyOf(current), key);
  const stated = grants && (await callFor(KEY_GRANTS, connection, 'GET', `${path}/grants`)).grants;
  const before = stated ? grantsIn(stated) : null;
  const isGranted =
    grants === undefined ||
    (grants.isComplete(own) && isDeepStrictEqual(before, grantsIn(grants.grantsOf(own))));
  if (isSame && isGranted) return { outcome: 'unchanged', text: name };
  if (!update)
    return { outcome: 'different', former: before, text: describeDifference(current, key, isSame) };
  const put = (granted: Grants | null) =>
    call(named, 'PUT', `${path}/grants`, { grants: granted && grantList(granted) });
  const request = async () => {
    const after = grants && grantsIn(grants.grantsOf(own));
    // Neither secret ever opens what only the other one may open, even if a request fails.
    const both = after && !isSame ? commonGrants(before, after) : before;
    if (!isDeepStrictEqual(both, before)) await put(both);
    if (!isSame) await call(named, 'PATCH', path, { algorithm, secret });
    if (after && !isDeepStrictEqual(after, both)) await put(after);
  };
  return { outcome: 'updated', text: name, former: before, request };
}

/**
 * Performs the steps one after another, and reports each outcome, until `signal` is aborted. With
 * `dryRun`, only reports them. Returns the number of processed steps, and those that the service
 * refused. Throws `CommandError` if the service cannot be reached.
 */
export async function performImport(
  steps: readonly Step[],
  dryRun: boolean,
  report: Report,
  signal: AbortSignal,
): Promise<{ readonly processed: number; readonly refused: ReadonlySet<Step> }> {
  const refused = new Set<Step>();
  for (const [index, step] of steps.entries()) {
    if (signal.aborted) return { processed: index, refused };
    const { place, outcome, text, kind, request } = step;
    const refusal = dryRun ? undefined : await refusalOf(request);
    if (refusal === undefined) report.add(outcome, text, place, kind);
    else {
      refused.add(step);
      report.add('refused', `${text}: ${refusal}`, place, kind);
    }
  }
  return { processed: steps.length, refused };
}

const SHOWN_NAMES = 10;

/** Returns a sentence that states which zones the new keys of a pool will open. */
export async function describeReach(
  connection: Connection,
  poolId: string,
  keys: readonly string[],
): Promise<string> {
  const zones = await poolZones(connection, poolId);
  const [subject, verb, today] =
    keys.length === 1 ? ['The new key', '', 'it opens'] : ['The new keys', ' each', 'they open'];
  const namesIn = (names: readonly string[]) => firstOf(names, SHOWN_NAMES, String).join(', ');
  const listed = zones?.length ? `: ${namesIn(zones)}` : '';
  const now = zones === undefined ? 'this token cannot list them' : `now ${zones.length}${listed}`;
  return plainCell(
    `${subject} ${namesIn(keys)} will${verb} open every zone of the pool (${now}), not only the zones that ${today} on the name server today.`,
  );
}

/** Returns undefined if the caller may not see the zones. A pool that does not exist has none. */
export async function poolZones(
  connection: Connection,
  poolId: string,
): Promise<string[] | undefined> {
  return (await poolZoneItems(connection, poolId))?.map(({ name }) => String(name));
}

export function zonesOf(connection: Connection): Promise<Item[]> {
  return readEverywhere(connection, (from) => listItems(from, zone, []));
}

/** Returns the zones of a pool, as `poolZones` does. */
export async function poolZoneItems(
  connection: Connection,
  poolId: string,
): Promise<Item[] | undefined> {
  try {
    const { name } = await call(connection, 'GET', `/v2/pools/${poolId}`);
    const parameters = [['pool', String(name)] as const, ['sort_key', 'name'] as const];
    return await readEverywhere(connection, (from) => listItems(from, zone, parameters));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (error.status === 404) return [];
    if (error.exitCode === EXIT.denied) return undefined;
    throw error;
  }
}

function describeDifference(current: Item, key: Key, isSame: boolean): string {
  if (isSame) return `${key.name} already exists with other grants; use --update to replace them`;
  const members = (['algorithm', 'secret'] as const).filter(
    (member) => current[member] !== key[member],
  );
  return `${key.name} already exists with a different ${members.join(' and ')}; use --update to replace it`;
}

/** Sends the request of a step. If the service refuses the request, returns the reason. */
async function refusalOf(request: Step['request']): Promise<string | undefined> {
  try {
    await request?.();
    return undefined;
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === EXIT.refused) return error.message;
    throw error;
  }
}
