import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isReturning, leftAt } from '../router.ts';
import type { Row } from '../rows.ts';
import { Tick, usePick, type Chosen, type Pick } from './selection.tsx';
import { Later } from './text.tsx';

export interface Column<T> {
  readonly label: string;
  /** The width in percent. */
  readonly width: number;
  /** The parameter that sorts by it. */
  readonly sort?: string;
  cell(row: T): ComponentChildren;
}

interface TableProps<T extends Row> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly isLoaded: boolean;
  readonly hasMore: boolean;
  readonly sort?: string | undefined;
  more(): void;
  onSort?(sort: string): void;
  onShown?(rows: readonly T[]): void;
  /** Absent: no row can be chosen. */
  readonly chosen?: Chosen;
}

const ROW = 36;
const AROUND = 20;
const AHEAD = 50;
export const PHONE = matchMedia('(max-width: 719px)');

/** A long list. Only the rows on the screen, and some around them, are in the page. */
export function Table<T extends Row>(props: TableProps<T>) {
  const { label, columns, rows, isLoaded, hasMore, sort = '', more, onSort, onShown } = props;
  const { chosen } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [from, to] = useWindow(body, rows.length);
  const isPhone = PHONE.matches;
  const [first, last] = isPhone ? [0, rows.length] : [from, Math.min(to, rows.length)];

  useEffect(() => {
    if (!isPhone && hasMore && last > rows.length - AHEAD) more();
  }, [last, rows.length, hasMore]);
  useEffect(() => {
    onShown?.(rows.slice(first, last));
  }, [first, last, rows]);
  useLayoutEffect(() => {
    if (isLoaded && isReturning.peek()) scrollTo(0, leftAt());
  }, [isLoaded]);
  useRowKeys(body, rows.length);
  const pick = usePick(rows, chosen);

  return (
    <div class="table">
      <table
        class={chosen === undefined ? 'two-line' : 'two-line choice'}
        aria-label={label}
        aria-rowcount={hasMore ? -1 : rows.length + 1}
      >
        <colgroup>
          {columns.map(({ label: key, width }) => (
            <col key={key} width={`${width}%`} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.label} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {isLoaded ? (
            <>
              <Spacer rows={first} columns={columns.length} />
              {rows.slice(first, last).map((row, index) => (
                <TableRow
                  key={row.id}
                  row={row as Row}
                  index={first + index}
                  columns={columns as readonly Column<never>[]}
                  chosen={chosen}
                  pick={pick}
                />
              ))}
              <Spacer rows={rows.length - last} columns={columns.length} />
            </>
          ) : (
            <Later>
              <Skeleton columns={columns.length} />
            </Later>
          )}
        </tbody>
      </table>
      {isPhone && hasMore ? (
        <div class="more">
          <button type="button" class="button" onClick={more}>
            Show 100 more
          </button>
        </div>
      ) : null}
    </div>
  );
}

function Heading<T>(props: {
  column: Column<T>;
  sort: string;
  onSort: ((sort: string) => void) | undefined;
}) {
  const { column, sort, onSort } = props;
  const { label, sort: key } = column;
  if (key === undefined || onSort === undefined) return <th scope="col">{label}</th>;
  const isUp = sort === key;
  const isDown = sort === `-${key}`;
  return (
    <th scope="col" aria-sort={isUp ? 'ascending' : isDown ? 'descending' : 'none'}>
      <button type="button" onClick={() => onSort(isUp ? `-${key}` : key)}>
        {label}
        <span aria-hidden="true">{isUp ? ' ↑' : isDown ? ' ↓' : ''}</span>
      </button>
    </th>
  );
}

/** Draws a row again only if it, its place or the columns changed. Cells may draw themselves again. */
function TableRow(props: {
  row: Row;
  index: number;
  columns: readonly Column<never>[];
  chosen: Chosen | undefined;
  pick: Pick;
}) {
  const { row, index, columns, chosen, pick } = props;
  return useMemo(
    () => (
      <tr aria-rowindex={index + 2} data-row={index}>
        {columns.map(({ label, cell }, place) => (
          <td key={label}>
            {place > 0 || chosen === undefined ? null : (
              <Tick row={row} index={index} chosen={chosen} pick={pick} />
            )}
            {cell(row as never)}
          </td>
        ))}
      </tr>
    ),
    [row, index, columns, chosen],
  );
}

function Spacer({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0 || PHONE.matches) return null;
  return (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * ROW}px` }} />
    </tr>
  );
}

const SKELETON_ROWS = [0, 1, 2, 3, 4, 5, 6, 7];

export function Skeleton({ columns }: { columns: number }) {
  return (
    <>
      {SKELETON_ROWS.map((row) => (
        <tr class="skeleton" key={row} aria-hidden="true">
          {SKELETON_ROWS.slice(0, columns).map((cell) => (
            <td key={cell}>
              <span class="bar" />
            </td>
          ))}
        </tr>
      ))}
    </>
  );
}

/** Returns the first row to draw and the one after the last. */
function useWindow(
  body: { readonly current: HTMLTableSectionElement | null },
  length: number,
): readonly [number, number] {
  const [range, setRange] = useState<readonly [number, number]>([0, 60]);
  useLayoutEffect(() => {
    const measure = () => {
      if (body.current === null) return;
      const top = -body.current.getBoundingClientRect().top;
      // Whole steps of ten rows, so that most movements draw nothing.
      const from = Math.max(0, Math.floor((top / ROW - AROUND) / 10) * 10);
      const to = Math.ceil(((top + innerHeight) / ROW + AROUND) / 10) * 10;
      setRange((before) => (before[0] === from && before[1] === to ? before : [from, to]));
    };
    measure();
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, [length]);
  return range;
}

/** Moves the focus along the rows. */
function useRowKeys(
  body: { readonly current: HTMLTableSectionElement | null },
  length: number,
): void {
  useEffect(() => {
    const move = (event: Event) => {
      const step = (event as CustomEvent<number>).detail;
      const focused = document.activeElement?.closest('tr')?.dataset.row;
      const index = focused === undefined ? firstOnScreen(body.current) : Number(focused) + step;
      if (index < 0 || index >= length) return;
      const focus = () => {
        const row = body.current?.querySelector(`tr[data-row="${index}"]`);
        (row?.querySelector<HTMLElement>('.main-link') ?? row?.querySelector('input'))?.focus();
      };
      if (body.current?.querySelector(`tr[data-row="${index}"]`) === null) {
        scrollTo(0, scrollY + step * ROW * AROUND);
        requestAnimationFrame(() => requestAnimationFrame(focus));
      } else focus();
    };
    addEventListener('console:row', move);
    return () => removeEventListener('console:row', move);
  }, [length]);
}

function firstOnScreen(body: HTMLTableSectionElement | null): number {
  for (const row of body?.rows ?? [])
    if (row.dataset.row !== undefined && row.getBoundingClientRect().top >= 90)
      return Number(row.dataset.row);
  return 0;
}
