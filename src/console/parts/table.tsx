import type { ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { isReturning, leftAt, query, setQuery } from '../router.ts';
import type { Row, Rows } from '../rows.ts';
import { Button } from './button.tsx';
import { NotLive } from './notices.tsx';
import { Reading } from './page.tsx';
import { countOf } from './text.tsx';

export interface Column<T> {
  readonly label: string;
  /** The width in percent. */
  readonly width: number;
  /** The parameter that sorts by it. */
  readonly sort?: string;
  cell(row: T): ComponentChildren;
}

interface ListProps<T extends Row> {
  readonly label: string;
  readonly list: Rows<T>;
  /** What one row is called. */
  readonly word: string;
  readonly columns: readonly Column<T>[];
  /** How the list is sorted unless the person chose otherwise. A minus stands for descending. */
  readonly sort?: string;
  /** What stands in the place of no rows. */
  readonly empty?: ComponentChildren;
  /** What stands beside the number of rows. */
  readonly children?: ComponentChildren;
}

/** The rows of a list, how many there are, and the button for more. */
export function List<T extends Row>(props: ListProps<T>) {
  const { label, list, word, columns, sort, empty, children } = props;
  const { rows, hasMore, isLoaded, error, asOf, reload } = list;
  useLayoutEffect(() => {
    if (isLoaded && isReturning.peek()) scrollTo(0, leftAt());
  }, [isLoaded]);
  if (!isLoaded)
    return <Reading live={{ data: undefined, error, asOf, reload }} what={`the ${word}s`} />;
  return (
    <>
      <div class="count-line" role="status">
        <span>{countOf(list, word)}</span>
        <NotLive error={error} asOf={asOf} reload={reload} />
        {children}
      </div>
      {rows.length === 0 && empty !== undefined ? (
        <div class="table empty">{empty}</div>
      ) : (
        <div class="table">
          <table aria-label={label}>
            <colgroup>
              {columns.map(({ label: key, width }) => (
                <col key={key} width={`${width}%`} />
              ))}
            </colgroup>
            <thead>
              <tr>
                {columns.map((column) => (
                  <Heading key={column.label} column={column} usual={sort} />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.id}>
                  {columns.map(({ label: key, cell }) => (
                    <td key={key}>{cell(row)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {hasMore ? (
            <div class="more">
              <Button onClick={list.more}>Show 100 more</Button>
            </div>
          ) : null}
        </div>
      )}
    </>
  );
}

function Heading<T>({ column, usual }: { column: Column<T>; usual: string | undefined }) {
  const { label, sort: key } = column;
  if (key === undefined || usual === undefined) return <th scope="col">{label}</th>;
  const sort = query.value.get('sort') ?? usual;
  const [order, arrow] =
    { [key]: ['ascending', ' ↑'] as const, [`-${key}`]: ['descending', ' ↓'] as const }[sort] ??
    (['none', ''] as const);
  const next = sort === key ? `-${key}` : key;
  return (
    <th scope="col" aria-sort={order}>
      <button type="button" onClick={() => setQuery({ sort: next === usual ? '' : next })}>
        {label}
        <span aria-hidden="true">{arrow}</span>
      </button>
    </th>
  );
}
