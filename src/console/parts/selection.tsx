import { signal, type Signal } from '@preact/signals';
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isReturning } from '../router.ts';
import type { Row } from '../rows.ts';
import { visible } from './text.tsx';

/** The rows that the person chose, by id. Rows that are read again stay chosen. */
export type Chosen = Signal<ReadonlyMap<string, Row>>;

/** How many rows can be chosen at a time. */
const MOST = 100;

/** What was chosen in the lists that the person left, for the way back. */
const left = new Map<string, { readonly filters: string; readonly chosen: Chosen }>();

/** Keeps what is chosen in a list, until its filters change: nothing is deleted out of sight. */
export function useChosen(collection: string, filters: string): Chosen {
  const [chosen] = useState<Chosen>(() => {
    const known = left.get(collection);
    return isReturning.peek() && known?.filters === filters ? known.chosen : signal(new Map());
  });
  const shown = useRef(filters);
  useLayoutEffect(() => {
    if (shown.current !== filters) chosen.value = new Map();
    shown.current = filters;
    left.set(collection, { filters, chosen });
  }, [filters]);
  return chosen;
}

/** Chooses the row at a place or the opposite, with all rows since the last one if `isRange`. */
export type Pick = (index: number, isRange: boolean) => void;

/** Returns how rows are chosen. */
export function usePick(rows: readonly Row[], chosen: Chosen | undefined): Pick {
  const latest = useRef(rows);
  latest.current = rows;
  const last = useRef<string>(undefined);
  return useCallback(
    (index: number, isRange: boolean) => {
      const row = latest.current[index];
      if (row === undefined || chosen === undefined) return;
      const begin = latest.current.findIndex(
        ({ id }) => id === last.current && chosen.peek().has(id),
      );
      const from = isRange && begin >= 0 ? begin : index;
      last.current = row.id;
      const isOn = !chosen.peek().has(row.id);
      const next = new Map(chosen.peek());
      const range = latest.current.slice(Math.min(from, index), Math.max(from, index) + 1);
      for (const each of range)
        if (!isOn) next.delete(each.id);
        else if (next.size < MOST) next.set(each.id, each);
      chosen.value = next;
    },
    [chosen],
  );
}

/** The box that chooses a row. */
export function Tick(props: { row: Row; index: number; chosen: Chosen; pick: Pick }) {
  const { row, index, chosen, pick } = props;
  const { name = row.id } = row as Row & { readonly name?: string };
  return (
    <label class="tick">
      <input
        type="checkbox"
        aria-label={`Select ${visible(name)}`}
        checked={chosen.value.has(row.id)}
        onClick={({ currentTarget, shiftKey }) => {
          pick(index, shiftKey);
          currentTarget.checked = chosen.peek().has(row.id);
        }}
      />
    </label>
  );
}

/** Says how many rows are chosen, and what can be done with them. */
export function SelectionBar({ chosen, onDelete }: { chosen: Chosen; onDelete(): void }) {
  const { size } = chosen.value;
  return (
    <div class="selection">
      <span role="status">
        {size === 0 ? '' : `${size} selected${size === MOST ? ', the most at a time' : ''}`}
      </span>
      {size === 0 ? null : (
        <>
          <button type="button" class="button" onClick={onDelete}>
            Delete…
          </button>
          <button type="button" class="button text" onClick={() => (chosen.value = new Map())}>
            Clear selection
          </button>
        </>
      )}
    </div>
  );
}
