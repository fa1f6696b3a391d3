import type { Keyring } from '../core/keyring.ts';
import type { Condition, ListQuery, Keyed, PageQuery } from '../core/query.ts';
import {
  timestampsOf,
  type DerivedLookup,
  type Fields,
  type ResourceOf,
  type ResourceType,
} from '../core/resource.ts';
import { columnOf, derivedColumn, lookupColumn, orderColumns, orderValues } from './columns.ts';
import { conditionsText, whereText, type Decider } from './conditions.ts';
import { credentialColumn, MAC_COLUMN } from './credential-column.ts';
import { loadDataKeys } from './data-keys.ts';
import { isLookup } from './indexes.ts';
import { inListOrder } from './order.ts';
import { readSecret, secretColumns, writeSecret } from './secret-columns.ts';
import { places } from './fragments.ts';
import type { Dialect, Sql, SqlCondition, SqlRow, SqlValue } from './sql.ts';

export interface Statement {
  readonly text: string;
  readonly parameters: SqlValue[];
  /** Set if the text depends on a request: see `Sql`. */
  readonly use?: 'once' | undefined;
}

/** The statements on one resource type's table, derived once from the type's definition. */
export interface Table<F extends Fields = Fields> {
  /** The columns that `get`, `find` and `list` select, in this order. */
  readonly columns: readonly string[];
  /** The columns with JSON, whose values can be large. */
  readonly largeColumns: readonly string[];
  readonly get: string;
  /** Selects like `get`, and prevents other transactions from changing the row. */
  readonly getToChange: string;
  readonly insert: string;
  readonly replace: string;
  readonly remove: string;
  /** Inserts or replaces rows by their ids. The number of rows must be one of `SIZES`. */
  putAll(rows: readonly Keyed<ResourceOf<F>>[]): Statement;
  /** Deletes the rows with these ids. Accepts at most `MAX_VALUES` ids. */
  removeAll(ids: readonly string[]): Statement;
  /** Selects the rows for which a lookup has one of at most `MAX_VALUES` values. */
  find(lookup: string, values: readonly string[]): Statement;
  /** Selects the `values` that exist in the column of a lookup. The result column is `value`. */
  present(lookup: string, values: readonly string[]): Statement;
  /**
   * Selects a page. `within` is a condition that few rows meet. The database then sorts these rows
   * instead of reading all rows in order.
   */
  list(query: ListQuery & Pick<PageQuery, 'shownOnly'>, within?: SqlCondition): Statement;
  inOrder(query: ListQuery, rows: SqlRow[]): SqlRow[];
  /** Selects the number of matching rows. The result column is `count`. */
  count(conditions: readonly Condition[]): Statement;
  /** Returns a row's values in the order of `insert`. `replace` needs the id after them. */
  encode(row: Keyed<ResourceOf<F>>): SqlValue[];
  decode(row: SqlRow): ResourceOf<F>;
  /** Returns whether a row has a secret under a data key that is not loaded. */
  lacksKey(row: SqlRow): boolean;
  loadKeys(sql: Sql): Promise<void>;
}

export type TableFor = <F extends Fields>(type: ResourceType<F>) => Table<F>;

/** Creates the statements of each type once. Without `keyring`, secrets are not available. */
export function tablesIn(dialect: Dialect, keyring?: Keyring): TableFor {
  const tables = new Map<unknown, unknown>();
  return <F extends Fields>(type: ResourceType<F>): Table<F> => {
    const table = tables.get(type) ?? tableOf(type, dialect, keyring);
    tables.set(type, table);
    return table as Table<F>; // `tables` maps each type to its own table
  };
}

export function tableOf<F extends Fields>(
  type: ResourceType<F>,
  dialect: Dialect,
  keyring?: Keyring,
): Table<F> {
  const members = ['id', ...Object.keys(type.fields), ...timestampsOf(type)];
  const secrets = secretColumns(type, keyring);
  const credential = credentialColumn(type, keyring);
  const added = [
    ...secrets.map(({ keyColumn }) => keyColumn),
    ...(credential === undefined ? [] : [MAC_COLUMN]),
  ];
  const addedColumns = added.toReversed();
  const columns = [...members, ...added];
  const jsonColumns = Object.entries(type.fields).flatMap(([name, field]) =>
    isJson(field.schema.type) ? [name] : [],
  );
  const booleans = Object.entries(type.fields).flatMap(([name, field]) =>
    field.schema.type === 'boolean' ? [name] : [],
  );
  const derived = derivedLookups(type);
  const { unique } = type;
  const names = [...(unique === undefined ? [] : [unique.field]), ...derived.map(([name]) => name)];
  const stored = [...columns, ...names.map(derivedColumn)];
  const selectOf = (names: readonly string[]) =>
    `SELECT ${names.join(', ')} FROM ${type.collection}`;
  const select = selectOf(columns);
  // The MAC of a credential covers hidden fields, and `decode` parses each column with JSON.
  const selectShown =
    credential === undefined && jsonColumns.length === 0
      ? selectOf(columns.filter((name) => type.fields[name]?.set !== 'hidden'))
      : select;
  const insertInto = `INSERT INTO ${type.collection} (${stored.join(', ')}) VALUES`;
  const places = `(${stored.map(() => '?').join(', ')})`;
  const updates = stored
    .filter((column) => column !== 'id')
    .map((column) => `${column} = excluded.${column}`);
  const putText = memoised(
    (rows: number) =>
      `${insertInto} ${Array(rows).fill(places).join(', ')} ON CONFLICT (id) DO UPDATE SET ${updates.join(', ')}`,
  );
  const encode = ({ resource, uniqueForm }: Keyed<ResourceOf<F>>): SqlValue[] => {
    const source: Readonly<Record<string, unknown>> = resource;
    const values = members.map((column) =>
      encodeValue(source[column], jsonColumns.includes(column)),
    );
    for (const secret of secrets) {
      const [text, keyNumber] = writeSecret(secret, resource.id, source[secret.field]);
      values[members.indexOf(secret.field)] = text;
      values.push(keyNumber);
    }
    if (credential !== undefined) values.push(credential.sign(resource));
    if (unique !== undefined) values.push(uniqueForm);
    for (const [, lookup] of derived) values.push(lookup.valueOf(resource, uniqueForm));
    return values;
  };
  return {
    columns,
    largeColumns: jsonColumns,
    get: `${select} WHERE id = ?`,
    getToChange: `${select} WHERE id = ?${dialect.rowLock}`,
    insert: `${insertInto} ${places}`,
    replace: `UPDATE ${type.collection} SET ${stored.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`,
    remove: `DELETE FROM ${type.collection} WHERE id = ?`,
    putAll: (rows) => ({ text: putText(rows.length), parameters: rows.flatMap(encode) }),
    removeAll: (ids) => among(`DELETE FROM ${type.collection}`, 'id', ids),
    find: (lookup, values) => among(select, lookupColumn(type, lookup), values),
    present(lookup, values) {
      const column = lookupColumn(type, lookup);
      return among(`SELECT ${column} AS value FROM ${type.collection}`, column, values);
    },
    list: (query, within) =>
      listStatement(query.shownOnly === true ? selectShown : select, type, query, dialect, within),
    inOrder: (query, rows) => inListOrder(type, query, rows),
    count: (conditions) => ({
      ...countStatement(type, conditions, dialect, indexDecider(type, conditions)),
      use: isFixed(type, conditions) ? undefined : 'once',
    }),
    encode,
    decode(row) {
      for (const column of jsonColumns)
        row[column] =
          credential === undefined ? JSON.parse(String(row[column])) : listIn(row[column]);
      for (const column of booleans) row[column] = row[column] === 1;
      for (const secret of secrets) row[secret.field] = readSecret(secret, row);
      credential?.check(row);
      // Deleting the columns that were added last is faster than copying the other columns.
      for (const column of addedColumns) Reflect.deleteProperty(row, column);
      // The definition and the migrations agree, as tests show.
      return row as ResourceOf<F>;
    },
    lacksKey(row) {
      if (keyring === undefined) return false;
      for (const { keyColumn } of secrets) {
        const number = row[keyColumn];
        if (typeof number === 'number' && !keyring.isLoaded(number)) return true;
      }
      return false;
    },
    async loadKeys(sql) {
      if (keyring !== undefined) await loadDataKeys(sql, keyring);
    },
  };
}

/** Returns the declared lookups of a type whose values the store derives from each resource. */
function derivedLookups<F extends Fields>({
  lookups = {},
}: ResourceType<F>): [name: string, lookup: DerivedLookup<F>][] {
  return Object.entries(lookups).flatMap(([name, lookup]): [string, DerivedLookup<F>][] =>
    'field' in lookup ? [] : [[name, lookup]],
  );
}

function memoised<T>(make: (argument: number) => T): (argument: number) => T {
  const results = new Map<number, T>();
  return (argument) => {
    const result = results.get(argument) ?? make(argument);
    results.set(argument, result);
    return result;
  };
}

function isJson(schemaType: unknown): boolean {
  return [schemaType].flat().some((each) => each === 'array' || each === 'object');
}

/**
 * Returns the list in a column of a credential. Text that is no list was stored by another program.
 * It becomes an empty list, so that the row can be listed as forged.
 */
function listIn(stored: unknown): unknown {
  if (typeof stored !== 'string') return null;
  try {
    const value: unknown = JSON.parse(stored);
    return Array.isArray(value) || value === null ? value : [];
  } catch {
    return [];
  }
}

function encodeValue(value: unknown, asJson: boolean): SqlValue {
  if (asJson) return value === null ? null : JSON.stringify(value);
  return typeof value === 'boolean' ? Number(value) : (value as SqlValue);
}

/**
 * The maximum number of values, or rows, in one statement. Each statement has one of `SIZES`, so
 * that few statements are prepared.
 */
export const MAX_VALUES = 256;
export const SIZES: readonly number[] = [1, 4, 16, 64, MAX_VALUES];
const PLACES = new Map(SIZES.map((size) => [size, places(size)]));

/** Repeats the last value to fill the size of the statement. */
export function among(statement: string, column: string, values: readonly string[]): Statement {
  const size = SIZES.find((count) => count >= values.length) ?? MAX_VALUES;
  const padding = Array<string>(size - values.length).fill(values.at(-1) ?? '');
  return {
    text: `${statement} WHERE ${column} IN (${PLACES.get(size)})`,
    parameters: [...values, ...padding],
  };
}

/** Uses keyset pagination, so the cost of a page does not depend on its position. */
function listStatement<F extends Fields>(
  select: string,
  type: ResourceType<F>,
  query: ListQuery,
  dialect: Dialect,
  within?: SqlCondition,
): Statement {
  const columns = orderColumns(type, query.sortField);
  const order = within === undefined ? columns : columns.map(dialect.aside);
  const direction = query.descending ? 'DESC' : 'ASC';
  const { texts, parameters } = conditionsText(
    type,
    query.conditions,
    dialect,
    within === undefined ? indexDecider(type, query.conditions) : () => false,
  );
  if (within !== undefined) {
    texts.unshift(within.text);
    parameters.unshift(...within.parameters);
  }
  if (query.after !== undefined) {
    const { sortValue, id } = query.after;
    texts.push(
      `(${order.join(', ')}) ${query.descending ? '<' : '>'} (${order.map(() => '?').join(', ')})`,
    );
    parameters.push(...orderValues(type, query.sortField, sortValue, id));
  }
  parameters.push(query.limit);
  return {
    text: `${select}${whereText(texts)} ORDER BY ${order.map((column) => `${column} ${direction}`).join(', ')} LIMIT ?`,
    parameters,
    use: isFixed(type, query.conditions) ? undefined : 'once',
  };
}

export function countStatement<F extends Fields>(
  type: ResourceType<F>,
  conditions: readonly Condition[],
  dialect: Dialect,
  mayDecide?: Decider,
): Statement {
  const { texts, parameters } = conditionsText(type, conditions, dialect, mayDecide);
  return {
    text: `SELECT count(*) AS count FROM ${type.collection}${whereText(texts)}`,
    parameters,
  };
}

export function existsStatement<F extends Fields>(
  type: ResourceType<F>,
  conditions: readonly Condition[],
  dialect: Dialect,
): Statement {
  const { texts, parameters } = conditionsText(type, conditions, dialect);
  return {
    text: `SELECT 1 AS found FROM ${type.collection}${whereText(texts)} LIMIT 1`,
    parameters,
  };
}

/**
 * Returns a function that returns true only for the condition that requires one name or id. No
 * other index leaves fewer rows. Without such a condition, the function always returns true.
 */
function indexDecider<F extends Fields>(
  type: ResourceType<F>,
  conditions: readonly Condition[],
): Decider {
  const lookup = conditions.find((condition) => isLookup(type, condition));
  return (condition) => lookup === undefined || condition === lookup;
}

/**
 * Returns whether each condition requires one id, one unique value or one owner. Only statements
 * with such conditions are prepared, because they have few different texts.
 */
function isFixed<F extends Fields>(
  type: ResourceType<F>,
  conditions: readonly Condition[],
): boolean {
  return conditions.every(
    (condition) =>
      isLookup(type, condition) ||
      (condition.test === '=' && columnOf(type, condition) === type.owner),
  );
}
