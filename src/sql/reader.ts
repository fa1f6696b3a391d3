import { allPages } from '../core/pages.ts';
import type { Reader, ReferencingServer } from '../core/ports.ts';
import type { ListQuery, PageQuery } from '../core/query.ts';
import type { Fields, Resource, ResourceOf, ResourceType } from '../core/resource.ts';
import { nextIfOver, partsInSlices } from '../core/scheduling/slicer.ts';
import { newSlicer } from '../net/slices.ts';
import type { Dialect, Sql, SqlRow } from './sql.ts';
import {
  among,
  countStatement,
  existsStatement,
  MAX_VALUES,
  type Table,
  type TableFor,
} from './table.ts';

/** Reads each list with one statement. For lists that read many rows, use `Store.page`. */
export function readerOn(sql: Sql, tableFor: TableFor, dialect: Dialect): Reader {
  return {
    async get(type, id) {
      const table = tableFor(type);
      const row = await sql.one(table.get, [id], 'shared');
      if (row === undefined) return undefined;
      if (table.lacksKey(row)) await table.loadKeys(sql);
      return table.decode(row);
    },
    async find<F extends Fields>(type: ResourceType<F>, lookup: string, values: readonly string[]) {
      const table = tableFor(type);
      const rows: ResourceOf<F>[] = [];
      for await (const some of partsInSlices(values, newSlicer(), MAX_VALUES)) {
        const { text, parameters } = table.find(lookup, some);
        rows.push(...(await decodeRows(sql, table, await sql.all(text, parameters))));
      }
      return rows;
    },
    async present(type, lookup, values) {
      const table = tableFor(type);
      const stored = new Set<string>();
      for await (const some of partsInSlices(values, newSlicer(), MAX_VALUES)) {
        const { text, parameters } = table.present(lookup, some);
        for (const { value } of await sql.all(text, parameters)) stored.add(String(value));
      }
      return stored;
    },
    async list<F extends Fields>(
      type: ResourceType<F>,
      query: ListQuery,
    ): Promise<ResourceOf<F>[]> {
      const table = tableFor(type);
      const { text, parameters, use } = table.list(query);
      return decodeRows(sql, table, table.inOrder(query, await sql.all(text, parameters, use)));
    },
    async count(type, conditions) {
      const { text, parameters } = countStatement(type, conditions, dialect);
      return Number((await sql.one(text, parameters))?.count);
    },
    async zoneRights(keyId) {
      const rows = await sql.all('SELECT zone_id, rights FROM tsigkey_grants WHERE key_id = ?', [
        keyId,
      ]);
      return new Map(rows.map(({ zone_id: id, rights }) => [String(id), String(rights)]));
    },
    async reservation(name) {
      const row = await sql.one(RESERVATION, [name, name]);
      if (row === undefined) return undefined;
      return row.kind === 'handle' ? 'handle' : 'retired';
    },
    async referencingServers(poolId) {
      // Most configurations name no key, and the order of the rest would cost as much as a deletion.
      if ((await sql.one(ANY_REFERENCING, [poolId])) === undefined) return [];
      const rows = await sql.all(REFERENCING, [poolId]);
      return rows.map(({ name, key_references: references, unknown_keys: unknown }) => ({
        name: String(name),
        key_references: JSON.parse(String(references)) as ReferencingServer['key_references'],
        unknown_keys: JSON.parse(String(unknown)) as ReferencingServer['unknown_keys'],
      }));
    },
    async grantedZones(keyIds, zoneId) {
      if (keyIds.length === 0) return [];
      const from = 'SELECT key_id, rights, count(*) AS zones FROM tsigkey_grants';
      const { text, parameters } = among(from, 'key_id', keyIds);
      const condition = zoneId === undefined ? '' : ' AND zone_id = ?';
      const rows = await sql.all(`${text}${condition} GROUP BY key_id, rights ORDER BY rights`, [
        ...parameters,
        ...(zoneId === undefined ? [] : [zoneId]),
      ]);
      return rows.map(({ key_id: id, rights, zones }) => ({
        keyId: String(id),
        rights: String(rights),
        zones: Number(zones),
      }));
    },
    async exists(type, conditions) {
      const { text, parameters } = existsStatement(type, conditions, dialect);
      return (await sql.one(text, parameters)) !== undefined;
    },
  };
}

const RESERVATION = `SELECT 'retired' AS kind FROM retired_tsigkeys WHERE name_key = ?
  UNION ALL SELECT 'handle' AS kind FROM tsigkey_lineages WHERE handle_key = ?
    AND NOT EXISTS (SELECT 1 FROM tsigkeys WHERE name_key = handle_key) LIMIT 1`;

const FROM_REFERENCING = `FROM nameservers WHERE pool_id = ? AND key_references <> '[]'`;
const ANY_REFERENCING = `SELECT 1 AS found ${FROM_REFERENCING} LIMIT 1`;
const REFERENCING = `SELECT name, key_references, unknown_keys ${FROM_REFERENCING}
  ORDER BY name_key LIMIT 1000`;

/**
 * Decodes rows. If another process has encrypted a secret with a data key that this process lacks,
 * loads the data keys first.
 */
export async function decodeRows<F extends Fields>(
  sql: Sql,
  table: Table<F>,
  rows: readonly SqlRow[],
): Promise<ResourceOf<F>[]> {
  if (rows.some((row) => table.lacksKey(row))) await table.loadKeys(sql);
  return rows.map((row) => table.decode(row));
}

/**
 * The number of rows with large columns that the first statement reads, and the maximum for later
 * statements. Both limit the cost of rows that do not fit on the page.
 */
const LARGE_ROWS = { first: 32, most: 256 };

/** Reads the resources of a page with an index. Also returns whether more resources may follow. */
export async function readPage<F extends Fields>(
  sql: Sql,
  table: Table<F>,
  query: PageQuery,
): Promise<{ resources: ResourceOf<F>[]; more: boolean }> {
  const { limit, sortField, maxBytes = Infinity } = query;
  let atATime = table.largeColumns.length === 0 ? limit : LARGE_ROWS.first;
  const resources: ResourceOf<F>[] = [];
  let after = query.after;
  for (let bytes = 0; resources.length < limit && bytes <= maxBytes;) {
    const wanted = Math.min(limit - resources.length, atATime);
    const { text, parameters, use } = table.list(
      after === query.after && wanted === limit ? query : { ...query, limit: wanted, after },
    );
    const found = table.inOrder(query, await sql.all(text, parameters, use));
    for (const row of found)
      for (const column of table.largeColumns) bytes += String(row[column]).length;
    resources.push(...(await decodeRows(sql, table, found)));
    if (found.length < wanted) return { resources, more: false };
    after = positionOf(resources.at(-1), sortField);
    if (bytes > 0) atATime = rowsThatFit(maxBytes - bytes, bytes / resources.length);
  }
  return { resources, more: true };
}

/** Returns at least 1, and at most `LARGE_ROWS.most`. `size` is the mean size of a row. */
function rowsThatFit(bytes: number, size: number): number {
  return Math.max(1, Math.min(LARGE_ROWS.most, Math.ceil(bytes / size)));
}

export function positionOf(
  resource: Resource | undefined,
  sortField: string,
): { sortValue: unknown; id: string } {
  return { sortValue: resource?.[sortField], id: resource?.id ?? '' };
}

/**
 * Yields all rows of a query in parts of `size`, in the order of their keys. `read` returns the next
 * rows after a key. After each slice, other requests run before the next part.
 */
export async function* pages<Row>(
  size: number,
  read: (after: string) => Promise<readonly Row[]>,
  keyOf: (row: Row) => string,
): AsyncGenerator<readonly Row[]> {
  const slicer = newSlicer();
  for (let after = ''; ;) {
    const rows = await read(after);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) return;
    after = keyOf(last);
    await nextIfOver(slicer);
  }
}

const RESOURCES_PER_PART = 500;

/** Yields all resources of a type, in the order of their ids. */
export function allResources<F extends Fields>(
  type: ResourceType<F>,
  reader: Pick<Reader, 'list'>,
): AsyncGenerator<readonly ResourceOf<F>[]> {
  return allPages(reader, type, { limit: RESOURCES_PER_PART });
}
