import type { Keyring } from '../../core/keyring.ts';
import type { Page } from '../../core/ports.ts';
import type { PageQuery } from '../../core/query.ts';
import type { Resource, ResourceType } from '../../core/resource.ts';
import { typeOfCollection } from '../../resources/resources.ts';
import { orderColumn, orderValue } from '../columns.ts';
import { resourcesPassing } from '../computed-filters.ts';
import { conditionsText, whereText } from '../conditions.ts';
import { decodeRows, positionOf, readerOn } from '../reader.ts';
import type { Database, Sql, SqlValue } from '../sql.ts';
import { countStatement, tablesIn, type Statement } from '../table.ts';
import { dialect } from './dialect.ts';

const ROWS_AT_A_TIME = 256;

/** Reads lists that cannot use an index. A page without computed filters needs one statement. */
export function scansOn(sql: Sql, keyring?: Keyring): Database['scan'] {
  const tableFor = tablesIn(dialect, keyring);
  const reader = readerOn(sql, tableFor, dialect);

  const count = async (type: ResourceType, { conditions }: PageQuery): Promise<Page> => {
    const { text, parameters } = countStatement(type, conditions, dialect);
    return {
      resources: [],
      more: false,
      total: Number((await sql.one(text, parameters, 'once'))?.count),
    };
  };

  const readPage = async (type: ResourceType, query: PageQuery): Promise<Page> => {
    const table = tableFor(type);
    const { text, parameters } = pageStatement(type, table.columns, query);
    const found = await sql.all(text, parameters, 'once');
    const rows = found
      .filter(({ id }) => id !== null)
      .map((row) => Object.fromEntries(table.columns.map((name) => [name, row[name]])));
    const resources = await decodeRows(sql, table, rows);
    const length = Number(found[0]?.page_length ?? 0);
    return {
      resources,
      more: length === query.limit || resources.length < length,
      total: query.count === true ? Number(found[0]?.total) : undefined,
    };
  };

  /** Reads the list in parts, because computed filters exclude rows after they are read. */
  const readPassing = async (
    type: ResourceType,
    query: PageQuery,
    signal: AbortSignal,
  ): Promise<Page> => {
    const { limit, sortField, maxBytes = Infinity } = query;
    const resources: Resource[] = [];
    let after = query.after;
    for (let bytes = 0; resources.length < limit && bytes <= maxBytes;) {
      signal.throwIfAborted();
      const part = await reader.list(type, {
        ...query,
        limit: ROWS_AT_A_TIME,
        ...(after === undefined ? {} : { after }),
      });
      const passed = (await resourcesPassing(type, query, part, reader)).slice(
        0,
        limit - resources.length,
      );
      resources.push(...passed);
      if (part.length < ROWS_AT_A_TIME)
        return { resources, more: resources.length === limit, total: undefined };
      if (passed.length > 0) bytes += JSON.stringify(passed).length;
      after = positionOf(part.at(-1), sortField);
    }
    return { resources, more: true, total: undefined };
  };

  return async (collection, query, signal) => {
    const type = typeOfCollection(collection);
    if (query.limit === 0) return count(type, query);
    return query.computed === undefined ? readPage(type, query) : readPassing(type, query, signal);
  };
}

/**
 * Returns the statement for the rows of a page, up to `maxBytes`. Each row contains the length of
 * the whole page (`page_length`), and the number of rows that match the conditions (`total`). An
 * empty page with a count consists of one row without an id.
 */
function pageStatement(
  type: ResourceType,
  columns: readonly string[],
  query: PageQuery,
): Statement {
  const { collection } = type;
  const { count = false, descending, limit, maxBytes = Infinity, after } = query;
  const direction = descending ? 'DESC' : 'ASC';
  const order = `place ${direction}, id ${direction}`;
  const { texts, parameters } = conditionsText(type, query.conditions, dialect);
  const rows = `SELECT ${count ? 'id' : columns.join(', ')}, ${orderColumn(type, query.sortField)} AS place FROM ${collection}${whereText(texts)}`;
  const following =
    after === undefined ? '' : ` WHERE (place, id) ${descending ? '<' : '>'} (?, ?)`;
  const marker: SqlValue[] =
    after === undefined ? [] : [orderValue(type, query.sortField, after.sortValue), after.id];
  const page = (source: string) => `SELECT * FROM ${source}${following} ORDER BY ${order} LIMIT ?`;
  const sized = (source: string) => `SELECT *, count(*) OVER () AS page_length,
    sum(octet_length(concat(${columns.join(', ')}))) OVER (ORDER BY ${order}) - octet_length(concat(${columns.join(', ')})) AS bytes_before FROM ${source}`;
  const shown = (source: string) =>
    `SELECT ${columns.join(', ')}, place, page_length FROM (${sized(source)}) sized WHERE bytes_before <= ?`;
  const values = [...parameters, ...marker, limit, Math.min(maxBytes, Number.MAX_SAFE_INTEGER)];
  if (!count)
    return {
      text: `${shown(`(${page(`(${rows}) matching`)}) page`)} ORDER BY ${order}`,
      parameters: values,
    };
  return {
    text: `WITH matching AS MATERIALIZED (${rows}), page AS (${page('matching')})
      SELECT * FROM (SELECT count(*) AS total FROM matching) counted
      LEFT JOIN (${shown(`(page JOIN ${collection} USING (id))`)}) shown ON true ORDER BY ${order}`,
    parameters: values,
  };
}
