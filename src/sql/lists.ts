import type { Page, Store, Turn } from '../core/ports.ts';
import type { Condition, PageQuery } from '../core/query.ts';
import type { Fields, ResourceType } from '../core/resource.ts';
import { createScans } from './scans.ts';
import { isLookup, isReadOffIndex } from './indexes.ts';
import { fewWithPrefix } from './prefix.ts';
import { readPage } from './reader.ts';
import type { Database } from './sql.ts';
import type { TableFor } from './table.ts';

/** The turn of lists that the service reads without a caller. */
const OWN_TURN: Turn = { owner: '', signal: () => undefined };

/** Returns the lists of a store, and their counts: from an index, or by a scan in a fair turn. */
export function createLists(
  database: Database,
  tableFor: TableFor,
): Pick<Store, 'page' | 'list' | 'count' | 'countUpTo'> {
  const runScan = createScans(database.scanSlots);

  const scan = async <F extends Fields>(
    type: ResourceType<F>,
    query: PageQuery,
    turn: Turn,
  ): Promise<Page<F>> => {
    const page = await runScan(turn, (signal) => database.scan(type.collection, query, signal));
    return page as Page<F>; // the rows of a collection are resources of its type
  };

  const countByScan = async (
    collection: string,
    conditions: readonly Condition[],
    turn: Turn,
  ): Promise<number> => {
    const query: PageQuery = {
      limit: 0,
      sortField: 'id',
      descending: false,
      conditions,
      count: true,
    };
    return (await runScan(turn, (signal) => database.scan(collection, query, signal))).total ?? 0;
  };

  const countByIndex = async <F extends Fields>(
    type: ResourceType<F>,
    conditions: readonly Condition[],
  ): Promise<number> => {
    const { text, parameters, use } = tableFor(type).count(conditions);
    return Number((await database.reads.one(text, parameters, use))?.count);
  };

  const page = async <F extends Fields>(
    type: ResourceType<F>,
    query: PageQuery,
    turn: Turn,
  ): Promise<Page<F>> => {
    const { conditions } = query;
    let table = tableFor(type);
    if (query.computed !== undefined || !isReadOffIndex(type, query)) {
      // PostgreSQL plans a scan by its statistics.
      const few = database.exclusive ? await fewWithPrefix(database.reads, type, query) : undefined;
      if (few === undefined) return scan(type, query, turn);
      const { list } = table;
      table = { ...table, list: (part) => list(part, few) };
    }
    const { resources, more } = await readPage(database.reads, table, query);
    if (query.count !== true) return { resources, more, total: undefined };
    // If the page contains the whole list, its length is the total. The service counts only longer
    // lists.
    if (!more && query.after === undefined) return { resources, more, total: resources.length };
    const isSmall = conditions.some((condition) => isLookup(type, condition));
    const total = isSmall
      ? await countByIndex(type, conditions)
      : await countByScan(type.collection, conditions, turn);
    return { resources, more, total: Math.max(resources.length, total) };
  };

  return {
    page,
    list: async (type, query) => (await page(type, query, OWN_TURN)).resources,
    count: ({ collection }, conditions) => countByScan(collection, conditions, OWN_TURN),
    async countUpTo(type, conditions, most) {
      const query = { limit: most, sortField: 'created_at', descending: false, conditions };
      if (!isReadOffIndex(type, query)) return (await scan(type, query, OWN_TURN)).resources.length;
      const { text, parameters } = tableFor(type).list(query);
      const counting = `SELECT count(*) AS count FROM (${text}) AS listed`;
      return Number((await database.reads.one(counting, parameters))?.count);
    },
  };
}
