import { changesOf, grantsFrom, zonesIn, type RightChange } from '../../domain/access/changes.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { asRequestError, get, type RequestError } from '../requests.ts';
import type { Key, Pool, Zone } from '../resources.ts';
import { readAll } from '../rows.ts';
import { seesAllProjects } from '../session.ts';
import type { Configuration, KeyInFile } from './configuration.ts';

/** The pool or zone to which new keys apply. */
export interface Target {
  readonly scope: Key['scope'];
  readonly resource_id: string;
}

/** What an import of a configuration would do. It contains secrets. */
export interface KeyImportPlan {
  readonly configuration: Configuration;
  readonly target: Target;
  /** The ids of the zones of the pool or of the zone, by name in comparison form. */
  readonly zones: ReadonlyMap<string, string>;
  readonly fresh: readonly KeyInFile[];
  /** The keys that the service has already, which stay as they are. */
  readonly known: readonly KeyInFile[];
  /** The zones in which new keys have rights, but that are not in `zones`. */
  readonly absent: readonly string[];
}

/** Compares a configuration with the service, and changes nothing. Throws `RequestError`. */
export async function planKeyImport(
  configuration: Configuration,
  target: Target,
  signal: AbortSignal,
): Promise<KeyImportPlan> {
  const present = await zonesOf(target, signal);
  const zones = new Map(present.map(({ name, id }) => [comparisonForm(name), id]));
  const keys = await readAll<Key>('tsigkeys', {}, { signal });
  const names = new Set(keys.map(({ name }) => comparisonForm(name)));
  const fresh = configuration.keys.filter(({ name }) => !names.has(name));
  const rows = configuration.matrix?.rows ?? [];
  const isFresh = new Set(fresh.map(({ name }) => name));
  const granted = new Set(rows.flatMap((row) => (isFresh.has(row.key) ? row.zones : [])));
  return {
    configuration,
    target,
    zones,
    fresh,
    known: configuration.keys.filter(({ name }) => names.has(name)),
    absent: [...granted].filter((name) => !zones.has(name)),
  };
}

async function zonesOf(
  { scope, resource_id: id }: Target,
  signal: AbortSignal,
): Promise<readonly Pick<Zone, 'id' | 'name'>[]> {
  const headers: Readonly<Record<string, string>> = seesAllProjects()
    ? { 'X-Auth-All-Projects': 'true' }
    : {};
  if (scope === 'ZONE') return [await get<Zone>(`v2/zones/${id}`, { headers, signal })];
  const pool = await get<Pool>(`v2/pools/${id}`, { signal });
  return readAll<Zone>('zones', { pool: pool.name }, { headers, signal });
}

/** Returns what the new keys may do in each zone, today and after the import. */
export function rightsIn(
  { configuration, fresh, zones }: KeyImportPlan,
  createsZones: boolean,
): readonly RightChange[] {
  const { matrix } = configuration;
  if (matrix === undefined) return [];
  return fresh.flatMap(({ name: key }) =>
    changesOf(matrix, key, (right) =>
      zonesIn(matrix.rows, key, right).filter((name) => createsZones || zones.has(name)),
    ),
  );
}

/** A zone or a key of an import, with the reason if the service refused it. */
export interface Step {
  readonly what: 'zone' | 'key';
  readonly name: string;
  readonly error?: RequestError | undefined;
}

/** The size of a request that every service accepts. */
const ACCEPTED_BYTES = 90_000;

const WITHOUT_SECRET = { 'Tsigil-Hide-Secrets': 'true' };

/**
 * Creates the absent zones, if the person wants that, and then the keys, one after another. A key
 * never opens more than in the configuration. Stops if the service cannot be reached or refuses the
 * session; `steps` then ends with that failure.
 */
export async function importKeys(
  plan: KeyImportPlan,
  createsZones: boolean,
  progress: (made: readonly Step[]) => void,
  signal: AbortSignal,
): Promise<readonly Step[]> {
  const { configuration, target, fresh, absent } = plan;
  const zones = new Map(plan.zones);
  const createZone = async (name: string) => {
    const body = { name: `${name}.`, email: `hostmaster@${name}`, pool_id: target.resource_id };
    const { id } = await get<Zone>('v2/zones', { method: 'POST', body });
    zones.set(name, id);
  };
  const createKey = async ({ name, key }: KeyInFile) => {
    const body = Object.assign({}, key, target);
    const path = 'v2/tsigkeys';
    const create = (given: object) =>
      get<Key>(path, { method: 'POST', body: given, headers: WITHOUT_SECRET });
    const { matrix } = configuration;
    if (matrix === undefined) return create(body);
    const grants = grantsFrom(matrix.rows, name, zones);
    const whole = Object.assign({ grants }, body);
    if (JSON.stringify(whole).length <= ACCEPTED_BYTES) return create(whole);
    // Only a PUT accepts many zones, and until then the key must open nothing.
    const { id } = await create(Object.assign({ grants: [] }, body));
    return get(`${path}/${id}/grants`, { method: 'PUT', body: { grants } });
  };
  const work: readonly (Step & { run(): Promise<unknown> })[] = [
    ...(createsZones ? absent : []).map(
      (name) => ({ what: 'zone', name, run: () => createZone(name) }) as const,
    ),
    ...fresh.map(
      (each) => ({ what: 'key', name: each.key.name, run: () => createKey(each) }) as const,
    ),
  ];
  const steps: Step[] = [];
  for (const { what, name, run } of work) {
    if (signal.aborted) break;
    let error: RequestError | undefined;
    try {
      await run();
    } catch (failure) {
      error = asRequestError(failure);
    }
    steps.push({ what, name, error });
    progress(steps);
    if (error !== undefined && !isRefusal(error)) break;
  }
  return steps;
}

/** Returns whether the service refused this zone or key, and may accept the next one. */
function isRefusal({ status, type }: RequestError): boolean {
  return status >= 400 && status < 500 && status !== 429 && type !== 'unauthorized';
}
