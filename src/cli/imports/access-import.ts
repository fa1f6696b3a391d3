import {
  leftOutReason,
  matrixOf,
  type Finding,
  type KeptRow,
  type Matrix,
  type Row,
  type ServerConfiguration,
} from '../../domain/access/access.ts';
import { changesOf, grantsFrom, zonesIn, type RightChange } from '../../domain/access/changes.ts';
import { useFindings, zonesText } from '../../domain/access/warnings.ts';
import { rightsInZone, type Grants } from '../../domain/resources/grants.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import type { Report } from '../output/import-report.ts';
import { call, type Connection } from '../service/client.ts';
import { poolZoneItems, type ImportedGrants, type KeyImport, type Step } from './key-import.ts';

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
  /** Creates the missing zones, if the caller wants that. */
  readonly zoneSteps: readonly Step[];
  /** Returns the rights of a key before and after the import, which may leave it as `former`. */
  changesOf(key: string, former?: Grants | null): RightChange[];
}

export interface AccessFlags {
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
  const widened = new Set(widen.map(comparisonForm));
  const isWidened = ({ key, partial }: KeptRow) => partial && widened.has(key);
  const wide = matrix.kept.filter(isWidened);
  for (const key of widen) {
    const reason = leftOutReason(configuration, key);
    if (reason !== undefined)
      throw new CommandError(
        EXIT.usage,
        `Cannot use --widen with '${key}': the import gives this key no right, because ${reason}. Omit --widen.`,
      );
  }
  const unknown = widen.find((key) => !wide.some((row) => row.key === comparisonForm(key)));
  if (unknown !== undefined)
    throw new CommandError(
      EXIT.usage,
      `Cannot use --widen with '${unknown}': this key has no right that stays in the configuration. Omit --widen.`,
    );
  const rows: Row[] = [...matrix.rows, ...wide];
  const ids = await zoneIdsOf(connection, wanted);
  const missing = [...new Set(rows.flatMap(({ zones }) => zones))].filter((name) => !ids.has(name));
  const planned = new Set(createZones ? missing : []);
  return {
    scope: wanted.scope,
    configuration,
    matrix,
    zoneIds: ids,
    kept: matrix.kept.filter((row) => !isWidened(row)),
    missing: createZones ? [] : missing,
    zoneSteps: [...planned].map((name) => zoneStep(connection, name, configuration, wanted, ids)),
    grantsOf: (key) => grantsFrom(rows, key, ids),
    isComplete: (key) =>
      rows.every(
        (row) => row.key !== key || row.zones.every((name) => ids.has(name) || !planned.has(name)),
      ),
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

/** Returns the ids of the zones in which new keys can have rights, by name in comparison form. */
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

function zoneStep(
  connection: Connection,
  name: string,
  { zones }: ServerConfiguration,
  { resourceId }: KeyImport,
  ids: Map<string, string>,
): Step {
  const body = { name: `${name}.`, email: `hostmaster@${name}`, pool_id: resourceId };
  return {
    place: zones.find((each) => each.name === name)?.place ?? '',
    outcome: 'added',
    text: `zone ${name}.`,
    request: async () => {
      const { id } = await call(connection, 'POST', '/v2/zones', body);
      ids.set(name, String(id));
    },
  };
}

/** Reports what stays in the configuration of the server. */
export function reportKept(report: Report, { kept }: AccessPlan): void {
  for (const { key, right, zones, reason, place } of kept) {
    const text = `${key}: ${right} of ${zonesText(zones)}: ${reason}`;
    report.add('left in your configuration', text, place);
  }
}

/** Returns what needs a person in the configuration of the server. */
export function accessFindings({ scope, configuration, matrix, missing }: AccessPlan): Finding[] {
  const names = zonesText(missing.map((name) => `${name}.`));
  const text =
    scope === 'ZONE'
      ? `outside the scope of the keys, so no key gets rights there: ${names}`
      : `not in the service, so no key gets rights there: ${names}; use --create-zones`;
  return [
    ...(missing.length === 0 ? [] : [{ kind: 'missing_zone', place: '', text }]),
    ...useFindings(configuration, matrix),
  ];
}
