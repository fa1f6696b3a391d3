import { isDeepStrictEqual } from 'node:util';
import { normaliseUuid, parseTimestamp } from '../../domain/model/field.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { givenFields, uniqueOf, type ResourceType } from '../../domain/model/resource.ts';
import { isUnusableName } from '../flags/key-name.ts';
import { call, type Connection } from '../service/client.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import type { Report } from '../output/import-report.ts';
import { assertSecrets, listItems, type Item } from '../service/resource-requests.ts';
import { ACCEPTED_BYTES, batchesOf } from './batches.ts';
import { grantsOf, withCopiedGrants } from './copied-grants.ts';

/** The maximum size of one request. */
const REQUEST = { items: 500, bytes: ACCEPTED_BYTES };

const UNUSABLE_NAME = 'no name server can have a key with this name; --force copies it';

/**
 * Copies every resource of `type` from one service to another, with ids and timestamps, and reports
 * each outcome. Does not change resources that already exist in `target`. Refuses keys that no name
 * server can have, unless forced. Throws `CommandError` if
 * a service cannot be reached.
 */
export async function copyResources(
  type: ResourceType,
  source: Connection,
  target: Connection,
  { dryRun = false, force = false }: { readonly dryRun?: boolean; readonly force?: boolean },
  report: Report,
): Promise<void> {
  const listed = (await listItems(source, type, [])).map((item) => normalise(type, item));
  for (const item of listed) assertSecrets(type, item);
  const items = type === tsigkey ? await withCopiedGrants(source, target, listed, report) : listed;
  const existing = (await listItems(target, type, [])).map((item) => normalise(type, item));
  const byId = new Map(existing.map((item) => [item.id, item]));
  const byName = new Map(existing.map((item) => [nameKey(type, item), item]));
  const currentOf = (item: Item): Item | undefined =>
    byId.get(item.id) ?? byName.get(nameKey(type, item));
  const grants = await grantsOf(
    target,
    items
      .map((item) => (item.grants === undefined ? undefined : currentOf(item)))
      .filter((found) => found !== undefined),
  );
  const missing: Item[] = [];
  for (const item of items) {
    const found = currentOf(item);
    const current = found && { ...found, grants: grants.get(found.id) ?? null };
    if (current === undefined && type === tsigkey && !force && isUnusableName(item.name))
      report.add('refused', `${String(item.name)}: ${UNUSABLE_NAME}`, String(item.id));
    else if (current === undefined) missing.push(item);
    else if (differences(item, current) === '')
      report.add('unchanged', String(item.name), String(item.id));
    else
      report.add(
        'different',
        `${String(item.name)} already exists with a different ${differences(item, current)}; it was not changed`,
        String(item.id),
      );
  }
  for (const batch of batchesOf(missing, REQUEST, (item) => item))
    await importBatch(type, target, batch, dryRun, report);
}

/**
 * Imports resources in one request. If the service refuses the request, imports each resource
 * alone, so that one refusal does not stop the other imports.
 */
async function importBatch(
  type: ResourceType,
  target: Connection,
  items: readonly Item[],
  dryRun: boolean,
  report: Report,
): Promise<void> {
  try {
    if (!dryRun)
      await call(target, 'POST', `/v2/${type.collection}/import`, {
        // An older service does not know the member, which says nothing if it is null.
        [type.collection]: items.map(({ grants, ...item }) =>
          grants === undefined || grants === null ? item : { ...item, grants },
        ),
      });
  } catch (error) {
    if (!(error instanceof CommandError) || error.exitCode !== EXIT.refused) throw error;
    if (items.length === 1)
      for (const { id, name } of items)
        report.add('refused', `${String(name)}: ${error.message}`, String(id));
    else for (const item of items) await importBatch(type, target, [item], dryRun, report);
    return;
  }
  for (const item of items) report.add('added', String(item.name), String(item.id));
}

/** Returns the members of a resource that an import sends, in normalised form. */
function normalise(type: ResourceType, item: Item): Item {
  const fields = givenFields(type).map((name): [string, unknown] => [name, item[name]]);
  const timestamp = (value: unknown) =>
    typeof value === 'string' ? (parseTimestamp(value) ?? value) : (value ?? null);
  const id = normaliseUuid(String(item.id)) ?? item.id;
  return {
    id,
    ...Object.fromEntries(fields),
    created_at: timestamp(item.created_at),
    updated_at: timestamp(item.updated_at),
  };
}

function nameKey(type: ResourceType, item: Item): string {
  const unique = uniqueOf(type);
  return unique.comparisonForm(String(item[unique.field]));
}

/** Lists the members of `item` that differ in `current`. A source may lack newer members. */
function differences(item: Item, current: Item): string {
  return Object.keys(item)
    .filter((name) => item[name] !== undefined && !isDeepStrictEqual(item[name], current[name]))
    .join(', ');
}
