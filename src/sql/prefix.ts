import type { Condition, PageQuery } from '../core/query.ts';
import type { Fields, ResourceType } from '../core/resource.ts';
import { lookupColumn } from './columns.ts';
import type { Sql, SqlCondition } from './sql.ts';

/** The most names with a prefix whose list is read without a scan. */
const FEW = 256;

/**
 * Returns a condition for the few resources whose names have the prefix of a query, such as 'a' for
 * the pattern 'a*', which reads them from the index of names. Returns undefined for other queries
 * and for more names.
 */
export async function fewWithPrefix<F extends Fields>(
  sql: Sql,
  type: ResourceType<F>,
  { conditions, computed }: PageQuery,
): Promise<SqlCondition | undefined> {
  const { collection, unique } = type;
  const prefix = prefixOf(conditions, unique?.field);
  if (unique === undefined || prefix === undefined || computed !== undefined) return undefined;
  const column = lookupColumn(type, unique.field);
  const beyond = await sql.one(
    `SELECT ${column} AS name FROM ${collection} WHERE ${column} >= ? ORDER BY ${column} LIMIT 1 OFFSET ${FEW}`,
    [prefix],
  );
  const end = beyond === undefined ? [] : [String(beyond.name)];
  if (end[0]?.startsWith(prefix) === true) return undefined;
  return {
    text: [`${column} >= ?`, ...end.map(() => `${column} < ?`)].join(' AND '),
    parameters: [prefix, ...end],
  };
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
