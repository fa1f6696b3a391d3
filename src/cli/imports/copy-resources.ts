import { isDeepStrictEqual } from 'node:util';
import { normaliseUuid, parseTimestamp } from '../../domain/model/field.ts';
import { givenFields, type ResourceType } from '../../domain/model/resource.ts';
import { call, type Connection } from '../service/client.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import type { Report } from '../output/import-report.ts';
import { listItems, type Item } from '../service/resource-requests.ts';

/** The most bytes of one request; every service takes as much. */
const MAX_REQUEST_BYTES = 90_000;
/** The most resources of one request. */
const MAX_REQUEST_ITEMS = 500;

/**
 * Copies every resource of `type` from one service into another, with ids and timestamps, and tells of each. What exists in
 * the other and is not just the same is left as it is. Throws `CommandError` when either cannot be asked.
 */
export async function copyResources(type: ResourceType, source: Connection, target: Connection, dryRun: boolean, report: Report): Promise<void> {
  const items = (await listItems(source, type, [])).map((item) => wholeOf(type, item));
  const existing = (await listItems(target, type, [])).map((item) => wholeOf(type, item));
  const byId = new Map(existing.map((item) => [item.id, item]));
  const byName = new Map(existing.map((item) => [nameKey(type, item), item]));
  const missing: Item[] = [];
  for (const item of items) {
    const current = byId.get(item.id) ?? byName.get(nameKey(type, item));
    if (current === undefined) missing.push(item);
    else if (isDeepStrictEqual(current, item)) report.add('unchanged', String(item.name), String(item.id));
    else report.add('different', `${String(item.name)} exists with another ${differences(current, item)}; it was left as it is`, String(item.id));
  }
  for (const batch of batchesOf(missing)) await restore(type, target, batch, dryRun, report);
}

/** Restores some resources; where they are refused together each is tried alone, so that one does not stop the others. */
async function restore(type: ResourceType, target: Connection, items: readonly Item[], dryRun: boolean, report: Report): Promise<void> {
  try {
    if (!dryRun) await call(target, 'POST', `/v2/${type.collection}/import`, { [type.collection]: items });
  } catch (error) {
    if (!(error instanceof CommandError) || error.exitCode !== EXIT.refused) throw error;
    if (items.length === 1) for (const { id, name } of items) report.add('refused', `${String(name)}: ${error.message}`, String(id));
    else for (const item of items) await restore(type, target, [item], dryRun, report);
    return;
  }
  for (const item of items) report.add('added', String(item.name), String(item.id));
}

/** The members that make up a resource, in the forms in which the service keeps them. */
function wholeOf(type: ResourceType, item: Item): Item {
  const fields = givenFields(type).map((name): [string, unknown] => [name, item[name]]);
  const moment = (value: unknown) => (typeof value === 'string' ? (parseTimestamp(value) ?? value) : (value ?? null));
  const id = normaliseUuid(String(item.id)) ?? item.id;
  return { id, ...Object.fromEntries(fields), created_at: moment(item.created_at), updated_at: moment(item.updated_at) };
}

function nameKey({ unique }: ResourceType, item: Item): string {
  return unique.comparisonForm(String(item[unique.field]));
}

function differences(one: Item, other: Item): string {
  return Object.keys(one)
    .filter((name) => !isDeepStrictEqual(one[name], other[name]))
    .join(', ');
}

function* batchesOf(items: readonly Item[]): Generator<Item[]> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (batch.length > 0 && (bytes + size > MAX_REQUEST_BYTES || batch.length === MAX_REQUEST_ITEMS)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
