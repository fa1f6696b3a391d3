import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { PageQuery } from '../../../core/query.ts';
import type { ResourceType } from '../../../core/resource.ts';
import { orderColumn } from '../../columns.ts';
import { conditionsText, whereText } from '../../conditions.ts';
import type { SqlValue } from '../../sql.ts';
import { among } from '../../table.ts';
import { dialect } from '../connection/dialect.ts';
import { addMatches } from '../connection/patterns.ts';
import { translate } from '../connection/sqlite-faults.ts';
import type { Key } from '../../order.ts';
import { cachedByText } from '../connection/statements.ts';
import { orderOf, rangeOf, type Position, type Walk } from './walk.ts';

export interface Scanned {
  readonly type: ResourceType;
  readonly query: PageQuery;
  readonly walk: Walk;
}

/** Rows as JSON text: an array with an array of values for each row. */
export interface RowsText {
  readonly count: number;
  readonly text: string;
}

/**
 * The statements of a scan. Each statement reads a bounded number of rows. A step is the part of a
 * walk after `from`, up to `to`.
 */
interface ScanSteps {
  /**
   * Returns the end of a step that begins after `from` and reads `rows` rows. Returns undefined if
   * the table ends earlier.
   */
  end(scanned: Scanned, from: Position | undefined, rows: number): Position | undefined;
  /**
   * Returns the first `most` rows of a step that match the conditions. The walk must have the order
   * of the list.
   */
  firstRows(
    scanned: Scanned,
    columns: readonly string[],
    from: Position | undefined,
    to: Position | undefined,
    most: number,
  ): RowsText;
  /** Returns the keys of the rows of a step that match the conditions. */
  keys(scanned: Scanned, from: Position | undefined, to: Position | undefined): Key[];
  count(scanned: Scanned, from: Position | undefined, to: Position | undefined): number;
  /** Returns the rows with these ids, at most 256, that still match, in any order. */
  rows(scanned: Scanned, columns: readonly string[], ids: readonly string[]): RowsText;
}

/** Runs `work`. Throws `unavailable` for a fault of the machine. */
export function translated(path: string): <T>(work: () => T) => T {
  return (work) => {
    try {
      return work();
    } catch (error) {
      throw translate(error, path);
    }
  };
}

/** Registers the SQL function for patterns on `connection`. */
export function scanStepsOn(connection: DatabaseSyncInstance, path: string): ScanSteps {
  const run = translated(path);
  addMatches(connection);
  const statementFor = cachedByText((text) => {
    const statement = connection.prepare(text);
    statement.setReturnArrays(true);
    return statement;
  });
  const valuesOf = (text: string, parameters: readonly SqlValue[]): readonly unknown[] =>
    run((): readonly unknown[] => {
      const row: unknown = statementFor(text).get(...parameters);
      return Array.isArray(row) ? row : [];
    });
  /** If `order` has ORDER BY terms, the rows have that order. */
  const rowsText = (
    columns: readonly string[],
    query: string,
    parameters: readonly SqlValue[],
    order?: string,
  ): RowsText => {
    // Without ORDER BY in the aggregate, SQLite does not guarantee the order of its rows, even
    // after an ordered subquery.
    const rows = `json_array(${columns.join(', ')})${order === undefined ? '' : ` ORDER BY ${order}`}`;
    const [count, text] = valuesOf(
      `SELECT count(*), json_group_array(${rows}) FROM (${query})`,
      parameters,
    );
    return { count: Number(count), text: String(text) };
  };

  const stepRows = (
    { type, query, walk }: Scanned,
    from: Position | undefined,
    to: Position | undefined,
  ) => {
    const { texts, parameters } = conditionsText(type, query.conditions, dialect, walk.decides);
    const range = rangeOf(walk, from, to);
    return {
      text: `FROM ${type.collection}${whereText([...texts, ...range.texts])}`,
      parameters: [...parameters, ...range.parameters],
    };
  };

  return {
    end({ type, query, walk }, from, rows) {
      const { texts, parameters } = conditionsText(
        type,
        query.conditions.filter(walk.decides),
        dialect,
      );
      const range = rangeOf(walk, from, undefined);
      const where = whereText([...texts, ...range.texts]);
      const text = `SELECT json_array(${walk.columns.join(', ')}) FROM ${type.collection}${where} ORDER BY ${orderOf(walk)} LIMIT 1 OFFSET ?`;
      const [found] = valuesOf(text, [...parameters, ...range.parameters, rows - 1]);
      return typeof found === 'string' ? (JSON.parse(found) as Position) : undefined;
    },
    firstRows(scanned, columns, from, to, most) {
      const { text, parameters } = stepRows(scanned, from, to);
      const order = orderOf(scanned.walk);
      const read = new Set([...columns, ...scanned.walk.columns]);
      return rowsText(
        columns,
        `SELECT ${[...read].join(', ')} ${text} ORDER BY ${order} LIMIT ?`,
        [...parameters, most],
        order,
      );
    },
    keys(scanned, from, to) {
      const { text, parameters } = stepRows(scanned, from, to);
      const [keys] = valuesOf(
        `SELECT json_group_array(json_array(${orderColumn(scanned.type, scanned.query.sortField)}, id)) ${text}`,
        parameters,
      );
      return JSON.parse(String(keys)) as Key[];
    },
    count(scanned, from, to) {
      const { text, parameters } = stepRows(scanned, from, to);
      return Number(valuesOf(`SELECT count(*) ${text}`, parameters)[0]);
    },
    rows({ type, query }, columns, ids) {
      const { text, parameters } = among(
        `SELECT ${columns.join(', ')} FROM ${type.collection}`,
        'id',
        ids,
      );
      const conditions = conditionsText(type, query.conditions, dialect, () => false);
      const rows = [text, ...conditions.texts].join(' AND ');
      return rowsText(columns, rows, [...parameters, ...conditions.parameters]);
    },
  };
}
