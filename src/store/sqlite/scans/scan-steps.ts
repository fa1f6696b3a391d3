import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { PageQuery } from '../../../domain/model/query.ts';
import type { ResourceType } from '../../../domain/model/resource.ts';
import { orderColumn } from '../../sql/columns.ts';
import { patternMatcher } from '../../sql/pattern.ts';
import type { SqlValue } from '../../sql/sql.ts';
import { among, conditionsText, whereText } from '../../sql/table.ts';
import { dialect } from '../connection/dialect.ts';
import { translate } from '../connection/faults.ts';
import type { Key } from './keys.ts';
import { kept } from '../connection/statements.ts';
import { orderOf, pageOrderOf, rangeOf, type Position, type Walk } from './walk.ts';

/** A list that is scanned, and the way on which. */
export interface Scanned {
  readonly type: ResourceType;
  readonly query: PageQuery;
  readonly walk: Walk;
}

/** Some rows of a list as a JSON text: a list of lists of values. */
export interface RowsText {
  readonly count: number;
  readonly text: string;
}

/** The statements of a scan, each of which reads a bounded number of rows. A step is the part of a walk after `from`, up to `to`. */
export interface ScanSteps {
  /** Where a step ends that begins after `from` and reads `rows` rows; undefined where the table ends before. */
  end(scanned: Scanned, from: Position | undefined, rows: number): Position | undefined;
  /** The first `most` rows of a step on a walk in the order of the list that meet the conditions. */
  firstRows(scanned: Scanned, columns: readonly string[], from: Position | undefined, to: Position | undefined, most: number): RowsText;
  /** The keys of the rows of a step that meet the conditions. */
  keys(scanned: Scanned, from: Position | undefined, to: Position | undefined): Key[];
  /** How many rows of a step meet the conditions. */
  count(scanned: Scanned, from: Position | undefined, to: Position | undefined): number;
  /** Those of the rows with these ids, 256 at most, that still meet the conditions, in the order of the list. */
  rows(scanned: Scanned, columns: readonly string[], ids: readonly string[]): RowsText;
}

/** Runs `work`, and throws faults of the machine as `unavailable`. */
export function translated(path: string): <T>(work: () => T) => T {
  return (work) => {
    try {
      return work();
    } catch (error) {
      throw translate(error, path);
    }
  };
}

/** Makes the steps of scans on `connection`, which gets the function that patterns need. */
export function scanStepsOn(connection: DatabaseSyncInstance, path: string): ScanSteps {
  const run = translated(path);
  const matcherFor = kept(patternMatcher);
  connection.function('matches', { deterministic: true }, (text: string | null, pattern: string) =>
    text !== null && matcherFor(pattern)(text) ? 1 : 0,
  );
  const statementFor = kept((text) => {
    const statement = connection.prepare(text);
    statement.setReturnArrays(true);
    return statement;
  });
  /** The values of the first row that a statement gives, if any. */
  const valuesOf = (text: string, parameters: readonly SqlValue[]): readonly unknown[] =>
    run(() => (statementFor(text).get(...parameters) as unknown as unknown[] | undefined) ?? []);
  /** The rows of a query as one text. */
  const rowsText = (columns: readonly string[], query: string, parameters: readonly SqlValue[]): RowsText => {
    const [count, text] = valuesOf(`SELECT count(*), json_group_array(json_array(${columns.join(', ')})) FROM (${query})`, parameters);
    return { count: count as number, text: text as string };
  };

  /** The rows of a step that meet the conditions. */
  const stepRows = ({ type, query, walk }: Scanned, from: Position | undefined, to: Position | undefined) => {
    const { texts, parameters } = conditionsText(type, query.conditions, dialect, walk.decides);
    const range = rangeOf(walk, from, to);
    return { text: `FROM ${type.collection}${whereText([...texts, ...range.texts])}`, parameters: [...parameters, ...range.parameters] };
  };

  return {
    end({ type, query, walk }, from, rows) {
      const { texts, parameters } = conditionsText(type, query.conditions.filter(walk.decides), dialect);
      const range = rangeOf(walk, from, undefined);
      const where = whereText([...texts, ...range.texts]);
      const text = `SELECT json_array(${walk.columns.join(', ')}) FROM ${type.collection}${where} ORDER BY ${orderOf(walk)} LIMIT 1 OFFSET ?`;
      const [found] = valuesOf(text, [...parameters, ...range.parameters, rows - 1]);
      return found === undefined ? undefined : (JSON.parse(found as string) as Position);
    },
    firstRows(scanned, columns, from, to, most) {
      const { text, parameters } = stepRows(scanned, from, to);
      return rowsText(columns, `SELECT ${columns.join(', ')} ${text} ORDER BY ${orderOf(scanned.walk)} LIMIT ?`, [...parameters, most]);
    },
    keys(scanned, from, to) {
      const { text, parameters } = stepRows(scanned, from, to);
      const [keys] = valuesOf(`SELECT json_group_array(json_array(${orderColumn(scanned.query.sortField)}, id)) ${text}`, parameters);
      return JSON.parse(keys as string) as Key[];
    },
    count(scanned, from, to) {
      const { text, parameters } = stepRows(scanned, from, to);
      return valuesOf(`SELECT count(*) ${text}`, parameters)[0] as number;
    },
    rows({ type, query }, columns, ids) {
      const { text, parameters } = among(`SELECT ${columns.join(', ')} FROM ${type.collection}`, 'id', ids);
      const conditions = conditionsText(type, query.conditions, dialect, () => false);
      const rows = `${[text, ...conditions.texts].join(' AND ')} ORDER BY ${pageOrderOf(query)}`;
      return rowsText(columns, rows, [...parameters, ...conditions.parameters]);
    },
  };
}
