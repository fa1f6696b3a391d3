import type { Page } from '../../domain/model/ports.ts';
import type { Condition, PageQuery } from '../../domain/model/query.ts';
import type { Fields, ResourceType } from '../../domain/model/resource.ts';
import { lookupColumn } from './columns.ts';
import { readPage } from './reader.ts';
import type { Sql } from './sql.ts';
import type { Table } from './table.ts';

/** The most names with a prefix whose list is read without a scan. */
const FEW = 256;

/**
 * Reads a page of the few resources whose names have a prefix, such as 'a' for the pattern 'a*'.
 * Reads them from the index of names. Returns undefined for other queries and for more names.
 */
export async function pageOfPrefix<F extends Fields>(
  sql: Sql,
  type: ResourceType<F>,
  table: Table<F>,
  query: PageQuery,
): Promise<Page<F> | undefined> {
  const { collection, unique } = type;
  const prefix = prefixOf(query.conditions, unique?.field);
  if (unique === undefined || prefix === undefined || query.computed !== undefined)
    return undefined;
  const column = lookupColumn(type, unique.field);
  const beyond = await sql.one(
    `SELECT ${column} AS name FROM ${collection} WHERE ${column} >= ? ORDER BY ${column} LIMIT 1 OFFSET ${FEW}`,
    [prefix],
  );
  const end = beyond === undefined ? [] : [String(beyond.name)];
  if (end[0]?.startsWith(prefix) === true) return undefined;
  const within = {
    text: [`${column} >= ?`, ...end.map(() => `${column} < ?`)].join(' AND '),
    parameters: [prefix, ...end],
  };
  const list: typeof table.list = (page) => table.list(page, within);
  const { resources, more } = await readPage(sql, { ...table, list }, query);
  if (query.count !== true) return { resources, more, total: undefined };
  const isWhole = !more && query.after === undefined;
  return isWhole ? { resources, more, total: resources.length } : undefined;
}

function prefixOf(
  conditions: readonly Condition[],
  lookup: string | undefined,
): string | undefined {
  for (const condition of conditions)
    if (condition.test === 'matches' && 'lookup' in condition && condition.lookup === lookup)
      return /^([^*]+)\*$/.exec(String(condition.value))?.[1];
  return undefined;
}
