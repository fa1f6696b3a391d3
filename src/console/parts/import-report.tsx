import type { ComponentChildren } from 'preact';

export type Total = readonly [number: number, word: string, isWarning?: boolean];

/** What an import does, in numbers. */
export function Totals({ totals }: { totals: readonly Total[] }) {
  return (
    <p class="totals">
      {totals.map(([number, word, isWarning]) => (
        <span key={word} class={number === 0 ? 'muted' : isWarning ? 'warn' : undefined}>
          <b>{number.toLocaleString('en')}</b> {word}
        </span>
      ))}
    </p>
  );
}

const SHOWN = 100;

interface EntriesProps<T> {
  readonly entries: readonly T[];
  show(entry: T): ComponentChildren;
}

/** Entries of an import, as far as a person reads. */
export function Entries<T>({ entries, show }: EntriesProps<T>) {
  return (
    <ul class="stack-s small">
      {entries.slice(0, SHOWN).map((entry, index) => (
        <li key={index}>{show(entry)}</li>
      ))}
      {entries.length > SHOWN ? (
        <li class="muted">and {(entries.length - SHOWN).toLocaleString('en')} more</li>
      ) : null}
    </ul>
  );
}

interface FoldedProps<T> extends EntriesProps<T> {
  readonly title: string;
  readonly note?: string;
  readonly isOpen?: boolean;
}

/** Entries below their title and number, if there are any. */
export function FoldedEntries<T>({ title, note, isOpen = false, ...list }: FoldedProps<T>) {
  if (list.entries.length === 0) return null;
  return (
    <details open={isOpen}>
      <summary class="label">
        {title}: {list.entries.length.toLocaleString('en')}
      </summary>
      <div class="stack-s">
        {note === undefined ? null : <p class="muted small">{note}</p>}
        <Entries {...list} />
      </div>
    </details>
  );
}
