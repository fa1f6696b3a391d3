import {
  leftOutReason,
  matrixOf,
  type Finding,
  type KeptRow,
  type Matrix,
  type Row,
  type ServerConfiguration,
} from '../../access/access.ts';
import { changesOf, grantsFrom, zonesIn, type RightChange } from '../../access/changes.ts';
import { useFindings, zonesText } from '../../access/warnings.ts';
import { anyText, array, nullable } from '../../core/field.ts';
import { responseObject } from '../../core/object.ts';
import { rightsInZone, type Grants } from '../../resources/grants.ts';
import { parts } from '../../core/scheduling/slicer.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import type { Report } from '../../cli/output/import-report.ts';
import { call, callFor, type Connection } from '../../cli/service/client.ts';
import {
  poolZoneItems,
  zonesOf,
  type ImportedGrants,
  type KeyImport,
  type Step,
} from './import-plan.ts';

/** What the configuration of a name server means for the keys of an import. */
export interface AccessPlan extends ImportedGrants {
  readonly scope: string;
  readonly configuration: ServerConfiguration;
  readonly matrix: Matrix;
  /** The ids of the zones in which the keys can have rights, by name in comparison form. */
  readonly zoneIds: ReadonlyMap<string, string>;
  /** What stays in the configuration of the server. */
  readonly kept: readonly KeptRow[];
  /** The zones in which keys have rights, but that the scope of the import does not have. */
  readonly missing: readonly string[];
  /** Creates the missing zones, if the caller wants that, or says why the service refuses them. */
  readonly zoneSteps: readonly Step[];
  /** The zones that every name server has for itself. No key gets rights there. */
  readonly builtIn: readonly string[];
  /** The zones that are not created because no key has a right there. */
  readonly unused: readonly string[];
  /** Returns the rights of a key before and after the import, which may leave it as `former`. */
  changesOf(key: string, former?: Grants | null): RightChange[];
}

interface AccessFlags {
  /** The names of the keys whose rights may grow. */
  readonly widen: readonly string[];
  readonly createZones: boolean;
}

/**
 * Compares a configuration with the zones of the service, and changes nothing. Throws
 * `CommandError` for a key in `widen` that has nothing to widen.
 */
export async function planAccess(
  connection: Connection,
  configuration: ServerConfiguration,
  wanted: KeyImport,
  { widen, createZones }: AccessFlags,
): Promise<AccessPlan> {
  if (createZones && wanted.scope === 'ZONE')
    throw new CommandError(
      EXIT.usage,
      'Cannot use --create-zones for keys of one zone',
      'Omit --create-zones, or apply the keys to a pool with --pool.',
    );
  const matrix = matrixOf(configuration);
  const wide = widenedRows(configuration, matrix, widen);
  const rows: Row[] = [...matrix.rows, ...wide];
  const ids = await zoneIdsOf(connection, wanted);
  const absent = (names: readonly string[]) => [...new Set(names)].filter((name) => !ids.has(name));
  const lacking = absent(rows.flatMap(({ zones }) => zones));
  const missing = lacking.filter((name) => !BUILT_IN.has(name));
  const served = absent(createZones ? configuration.zones.map(({ name }) => name) : []);
  const planned = new Set<string>();
  const refusals = createZones ? await refusalsOf(connection, missing) : new Map<string, string>();
  const zoneSteps = (createZones ? missing : []).map((name): Step => {
    const place = configuration.zones.find((each) => each.name === name)?.place ?? '';
    const text = `zone ${name}.`;
    const refusal = refusals.get(name);
    if (refusal !== undefined)
      return { place, kind: 'zones', outcome: 'refused', text: `${text}: ${refusal}` };
    planned.add(name);
    const request = async () => {
      planned.delete(name); // it exists from now on, or is refused
      ids.set(name, await createZone(connection, name, wanted));
    };
    return { place, kind: 'zones', outcome: 'added', text, request };
  });
  return {
    scope: wanted.scope,
    configuration,
    matrix,
    zoneIds: ids,
    kept: matrix.kept.filter((row) => !wide.includes(row)),
    missing: createZones ? [] : missing,
    builtIn: [...new Set([...served, ...lacking])].filter((name) => BUILT_IN.has(name)),
    unused: served.filter((name) => !BUILT_IN.has(name) && !missing.includes(name)),
    zoneSteps,
    grantsOf: (key) => grantsFrom(rows, key, ids),
    isComplete: (key) =>
      rows.every((row) => row.key !== key || !row.zones.some((name) => planned.has(name))),
    changesOf: (key, former) =>
      changesOf(matrix, key, (right) =>
        former === undefined
          ? zonesIn(rows, key, right).filter((name) => ids.has(name) || planned.has(name))
          : [...ids].flatMap(([name, id]) =>
              former === null || rightsInZone(former, id).includes(right) ? [name] : [],
            ),
      ),
  };
}

/** Returns the rows in which keys get rights that they have only for some requests today. */
function widenedRows(
  configuration: ServerConfiguration,
  { kept }: Matrix,
  widen: readonly string[],
): KeptRow[] {
  return widen.flatMap((name) => {
    const reason = leftOutReason(configuration, name);
    if (reason !== undefined)
      throw new CommandError(
        EXIT.usage,
        `Cannot use --widen with '${name}': the import gives this key no right, because ${reason}. Omit --widen.`,
      );
    const rows = kept.filter(({ key, partial }) => partial && key === comparisonForm(name));
    if (rows.length > 0) return rows;
    throw new CommandError(
      EXIT.usage,
      `Cannot use --widen with '${name}': this key has no right that stays in the configuration. Omit --widen.`,
    );
  });
}

async function zoneIdsOf(
  connection: Connection,
  { scope, resourceId }: KeyImport,
): Promise<Map<string, string>> {
  const zones =
    scope === 'ZONE'
      ? [await call(connection, 'GET', `/v2/zones/${resourceId}`)]
      : await poolZoneItems(connection, resourceId);
  if (zones === undefined)
    throw new CommandError(
      EXIT.denied,
      'This token cannot list the zones of the pool, so the rights of the keys are unknown',
      'Use a token with a role that may list zones.',
    );
  return new Map(zones.map(({ name, id }) => [comparisonForm(String(name)), String(id)]));
}

/** The zones of a name server for itself, in the default configurations of distributions. */
const BUILT_IN = new Set([
  'localhost',
  'localhost.localdomain',
  ...['0', '127', '255', '0.0.127', '1.0.0.127'].map((labels) => `${labels}.in-addr.arpa`),
  `${'0.'.repeat(32)}ip6.arpa`,
  `1.${'0.'.repeat(31)}ip6.arpa`,
]);

/** The maximum number of names in a request for checks. */
const CHECK_SIZE = 1000;

const ZONE_CHECKS = responseObject({
  checks: array(responseObject({ message: nullable(anyText()) }), 0, Infinity),
});

/** Returns why the service refuses zones, by their names in comparison form. */
async function refusalsOf(
  connection: Connection,
  names: readonly string[],
): Promise<Map<string, string>> {
  const refusals = new Map<string, string>();
  if (names.length === 0) return refusals;
  for (const { name } of await zonesOf(connection))
    refusals.set(comparisonForm(String(name)), 'a zone of another pool has this name');
  for (const some of parts(names, CHECK_SIZE)) {
    const body = { names: some.map((name) => `${name}.`) };
    const { checks } = await callFor(ZONE_CHECKS, connection, 'POST', '/v2/tlds/check', body);
    for (const [index, name] of some.entries()) {
      const message = checks[index]?.message;
      if (typeof message === 'string') refusals.set(name, message);
    }
  }
  return refusals;
}

async function createZone(
  connection: Connection,
  name: string,
  { resourceId }: KeyImport,
): Promise<string> {
  const body = { name: `${name}.`, email: `hostmaster@${name}`, pool_id: resourceId };
  const { id } = await call(connection, 'POST', '/v2/zones', body);
  return String(id);
}

export function reportKept(report: Report, { kept, builtIn }: AccessPlan): void {
  if (builtIn.length > 0)
    report.add(
      'left out',
      `zones of the name server itself, in which no key gets rights: ${zonesText(builtIn)}`,
      'zones',
      'zones',
    );
  for (const { key, right, zones, reason, place } of kept) {
    const text = `${key}: ${right} of ${zonesText(zones)}: ${reason}`;
    report.add('left in your configuration', text, place);
  }
}

/** Returns what needs a person in the configuration of the server. */
export function accessFindings(plan: AccessPlan): Finding[] {
  const { scope, configuration, matrix, missing, unused } = plan;
  const finding = (kind: string, zones: readonly string[], [why, how]: readonly string[]) => {
    const names = zonesText(zones.map((name) => `${name}.`));
    return zones.length === 0 ? [] : [{ kind, place: '', text: `${why}: ${names}${how ?? ''}` }];
  };
  const absence =
    scope === 'ZONE'
      ? ['outside the scope of the keys, so no key gets rights there']
      : ['not in the service, so no key gets rights there', '; use --create-zones'];
  return [
    ...finding('missing_zone', missing, absence),
    ...finding('unused_zone', unused, ['not created, because no key gets a right there']),
    ...useFindings(configuration, matrix),
  ];
}
