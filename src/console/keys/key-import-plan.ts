import { changesOf, grantsFrom, type RightChange } from '../../access/changes.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { asRequestError, get, send, type RequestError } from '../requests.ts';
import type { Key, Pool, Zone } from '../resources.ts';
import { readAll } from '../rows.ts';
import { seesAllProjects } from '../session.ts';
import type { Configuration, KeyInFile } from './readers/reader.ts';

/** What an import of a configuration would do. It contains secrets. */
export interface KeyImportPlan {
  readonly configuration: Configuration;
  /** The id of the pool to which new keys apply. */
  readonly pool: string;
  /** The ids of its zones, by name in comparison form. */
  readonly zones: ReadonlyMap<string, string>;
  readonly fresh: readonly KeyInFile[];
  /** The keys that the service has already, which stay as they are. */
  readonly known: readonly KeyInFile[];
}

/** Compares a configuration with the service, and changes nothing. Throws `RequestError`. */
export async function planKeyImport(
  configuration: Configuration,
  pool: string,
  signal: AbortSignal,
): Promise<KeyImportPlan> {
  const headers: Readonly<Record<string, string>> = seesAllProjects()
    ? { 'X-Auth-All-Projects': 'true' }
    : {};
  const { name: poolName } = await get<Pool>(`v2/pools/${pool}`, { signal });
  const present = await readAll<Zone>('zones', { pool: poolName }, { headers, signal });
  const keys = await readAll<Key>('tsigkeys', {}, { signal });
  const names = new Set(keys.map(({ name }) => comparisonForm(name)));
  return {
    configuration,
    pool,
    zones: new Map(present.map(({ name, id }) => [comparisonForm(name), id])),
    fresh: configuration.keys.filter(({ name }) => !names.has(name)),
    known: configuration.keys.filter(({ name }) => names.has(name)),
  };
}

interface KeyRight extends Pick<RightChange, 'key' | 'right'> {
  /** The zones in which the key has the right today. */
  readonly zones: readonly string[];
}

/** Returns what the new keys may do today. */
export function rightsIn({ configuration, fresh }: KeyImportPlan): readonly KeyRight[] {
  const { matrix } = configuration;
  if (matrix === undefined) return [];
  return fresh
    .flatMap(({ name }) => changesOf(matrix, name, () => []))
    .map(({ key, right, before }) => ({ key, right, zones: before }))
    .filter(({ zones }) => zones.length > 0);
}

/** A key of an import, with the reason if the service did not create it. */
export interface Step {
  readonly name: string;
  readonly error: RequestError | undefined;
}

/** The size of a request that every service accepts. */
const ACCEPTED_BYTES = 90_000;

const HEADERS = { 'Tsigil-Hide-Secrets': 'true' };

/** Creates a key that opens what it opens in the configuration, and never more. */
async function createKey(plan: KeyImportPlan, { name, key }: KeyInFile): Promise<void> {
  const { configuration, pool, zones } = plan;
  const { matrix } = configuration;
  const grants = matrix && grantsFrom(matrix.rows, name, zones);
  // Only a PUT accepts many zones, and until then the key must open nothing.
  const isLong = JSON.stringify(grants ?? '').length > ACCEPTED_BYTES;
  const first = isLong ? [] : grants;
  const target = { scope: 'POOL', resource_id: pool };
  const body = Object.assign(first === undefined ? {} : { grants: first }, key, target);
  const { id } = await send<Key>('v2/tsigkeys', 'POST', body, HEADERS);
  if (isLong) await send(`v2/tsigkeys/${id}/grants`, 'PUT', { grants });
}

/**
 * Creates the keys, one after another. Stops if the service cannot be reached or refuses the
 * session; the steps then end with that failure.
 */
export async function importKeys(
  plan: KeyImportPlan,
  progress: (made: number) => void,
  signal: AbortSignal,
): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for (const each of plan.fresh) {
    if (signal.aborted) break;
    const error = await createKey(plan, each).then(() => undefined, asRequestError);
    steps.push({ name: each.key.name, error });
    progress(steps.length);
    if (error !== undefined && !isRefusal(error)) break;
  }
  return steps;
}

/** Returns whether the service refused this key, and may accept the next one. */
function isRefusal({ status, type }: RequestError): boolean {
  return status >= 400 && status < 500 && status !== 429 && type !== 'unauthorized';
}
