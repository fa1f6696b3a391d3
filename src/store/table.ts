import type { Condition, ListQuery } from '../domain/ports.ts';
import { uniqueColumn, type ResourceType, type Row, type SortKey } from '../domain/resource.ts';
import type { Dialect, SqlRow, SqlValue } from './sql.ts';

/** A statement and its parameters. */
export interface Statement {
  readonly text: string;
  readonly parameters: SqlValue[];
}

/** The statements on one resource type's table, derived once from its definition. */
export interface Table {
  readonly get: string;
  readonly insert: string;
  readonly replace: string;
  readonly remove: string;
  readonly count: string;
  find(column: string): string;
  list(query: ListQuery): Statement;
  /** A row's values in the order of `insert`; `replace` wants the id once more at the end. */
  encode(row: Row): SqlValue[];
  decode(row: SqlRow): Row;
}

/** Makes the statements for `type`. */
export function tableOf(type: ResourceType, dialect: Dialect): Table {
  const shown = ['id', ...Object.keys(type.fields), 'created_at', 'updated_at'];
  const jsonColumns = Object.entries(type.fields).flatMap(([name, field]) => (isJson(field.schema.type) ? [name] : []));
  const stored = [...shown, uniqueColumn(type)];
  const select = `SELECT ${shown.join(', ')} FROM ${type.collection}`;
  return {
    get: `${select} WHERE id = ?`,
    insert: `INSERT INTO ${type.collection} (${stored.join(', ')}) VALUES (${stored.map(() => '?').join(', ')})`,
    replace: `UPDATE ${type.collection} SET ${stored.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`,
    remove: `DELETE FROM ${type.collection} WHERE id = ?`,
    count: `SELECT count(*) AS count FROM ${type.collection}`,
    find: (column) => `${select} WHERE ${column} = ?`,
    list: (query) => listStatement(select, query, dialect),
    encode(row) {
      const values = shown.map((column) => encodeValue(row[column], jsonColumns.includes(column)));
      return [...values, type.unique.comparisonForm(row[type.unique.field] as string)];
    },
    decode(row) {
      for (const column of jsonColumns) row[column] = JSON.parse(row[column] as string);
      return row;
    },
  };
}

function isJson(schemaType: unknown): boolean {
  return schemaType === 'array' || schemaType === 'object';
}

function encodeValue(value: unknown, asJson: boolean): SqlValue {
  return asJson ? JSON.stringify(value) : (value as SqlValue);
}

/** Keyset paging: the page begins after the (sort value, id) of the row before it, so its cost does not depend on its position. */
function listStatement(select: string, query: ListQuery, dialect: Dialect): Statement {
  const sort = sortColumn(query.sortKey);
  const direction = query.descending ? 'DESC' : 'ASC';
  const where = query.conditions.map((condition) => conditionText(condition, dialect));
  const parameters: SqlValue[] = query.conditions.map(({ value, wildcard }) => (wildcard ? dialect.likePattern(value) : value));
  if (query.after !== undefined) {
    where.push(`(${sort}, id) ${query.descending ? '<' : '>'} (?, ?)`);
    parameters.push((query.after.sortValue ?? '') as SqlValue, query.after.id);
  }
  const filter = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`;
  return {
    text: `${select}${filter} ORDER BY ${sort} ${direction}, id ${direction} LIMIT ?`,
    parameters: [...parameters, query.limit],
  };
}

/**
 * Null sorts as the lowest value, and in every database alike, because a generated column makes it empty text. A column,
 * not an expression: SQLite seeks to a pair such as (x, id) in an index only where x is a column.
 */
function sortColumn(sortKey: SortKey): string {
  return sortKey === 'updated_at' ? 'updated_order' : sortKey;
}

function conditionText({ column, wildcard }: Condition, dialect: Dialect): string {
  return wildcard ? `${column} ${dialect.like} ?` : `${column} = ?`;
}
