import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Confirm } from './dialog.tsx';
import { TextField } from './inputs.tsx';
import { Problem } from './notices.tsx';

/** Compares what was pasted with the service. */
type Read<T> = (signal: AbortSignal) => Promise<T>;

/** Compares a text with the service. Whoever changes the text forgets the comparison. */
export function useComparison<T>() {
  const [text, setText] = useState('');
  const [plan, setPlan] = useState<T>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const reading = useRef(new AbortController());
  useEffect(() => () => reading.current.abort(), []);
  const stop = () => {
    reading.current.abort();
    setPlan(undefined);
    setError(undefined);
    setBusy(false);
  };
  const set = (given: string) => {
    stop();
    setText(given);
  };
  const compare = async (read: Read<T>) => {
    stop();
    const { signal } = (reading.current = new AbortController());
    setBusy(true);
    try {
      const found = await read(signal);
      if (!signal.aborted) setPlan(found);
    } catch (failure) {
      if (!signal.aborted) setError(failure as Error);
    }
    if (!signal.aborted) setBusy(false);
  };
  return { text, set, plan, error, isBusy, stop, compare };
}

interface ImportFormProps<T> {
  readonly label: string;
  readonly hint: string;
  readonly comparison: ReturnType<typeof useComparison<T>>;
  /** Absent: there is something to choose first. */
  readonly read: Read<T> | undefined;
  readonly children: ComponentChildren;
}

/** What is imported, pasted or from a file, and how. */
export function ImportForm<T>({ label, hint, comparison, read, children }: ImportFormProps<T>) {
  const { text, set, error, isBusy, compare } = comparison;
  const id = useId();
  const canCompare = read !== undefined && text.trim() !== '' && !isBusy;
  return (
    <>
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          if (canCompare) void compare(read);
        }}
      >
        <TextField label={label} hint={hint} rows={10} value={text} set={set} />
        <div class="field">
          <label for={id}>Or a file</label>
          <input
            id={id}
            type="file"
            onChange={({ currentTarget }) => void currentTarget.files?.[0]?.text().then(set)}
          />
        </div>
        {children}
        <div class="row">
          <button type="submit" class="button primary" aria-disabled={!canCompare}>
            Show what would change
          </button>
        </div>
      </form>
      {error === undefined ? null : <Problem error={error} />}
    </>
  );
}

type Total = readonly [number: number, word: string, isWarning?: boolean];

const SHOWN = 100;

interface EntriesProps<T> {
  readonly title: string;
  readonly entries: readonly T[];
  readonly isOpen?: boolean;
  show(entry: T): ComponentChildren;
}

/** Entries of an import below their title and number, as far as a person reads. */
export function Entries<T>({ title, entries, isOpen = false, show }: EntriesProps<T>) {
  if (entries.length === 0) return null;
  return (
    <details open={isOpen}>
      <summary class="label">
        {title}: {entries.length.toLocaleString('en')}
      </summary>
      <ul class="stack-s small">
        {entries.slice(0, SHOWN).map((entry, index) => (
          <li key={index}>{show(entry)}</li>
        ))}
        {entries.length > SHOWN ? (
          <li class="muted">and {(entries.length - SHOWN).toLocaleString('en')} more</li>
        ) : null}
      </ul>
    </details>
  );
}

/** A step of an import, whose heading gets the focus. */
export function Stage(props: { title: string; label: string; children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section class="panel stack" aria-label={props.label}>
      <h2 ref={heading} tabIndex={-1}>
        {props.title}
      </h2>
      {props.children}
    </section>
  );
}

interface ChangesProps {
  readonly totals: readonly Total[];
  /** How many changes there would be. */
  readonly changes: number;
  /** What the button says. */
  readonly action: string;
  readonly isDangerous: boolean;
  readonly typed: string | undefined;
  readonly question: ComponentChildren;
  readonly children: ComponentChildren;
  run(): Promise<void>;
  onClose?(): void;
}

/** What an import would change, with the button that does it. */
export function Changes({ totals, changes, question, children, onClose, ...act }: ChangesProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <Stage
      title={changes === 0 ? 'Nothing would change' : 'What would change'}
      label="What would change"
    >
      <p class="totals">
        {totals.map(([number, word, isWarning]) => (
          <span key={word} class={number > 0 && isWarning ? 'warn' : undefined}>
            <b>{number.toLocaleString('en')}</b> {word}
          </span>
        ))}
      </p>
      {children}
      {changes === 0 ? null : (
        <div class="row">
          <Button look="primary" onClick={() => setAsking(true)}>
            {act.action}…
          </Button>
        </div>
      )}
      {isAsking ? (
        <Confirm
          {...act}
          title={`${act.action}?`}
          onClose={() => {
            setAsking(false);
            onClose?.();
          }}
        >
          {question}
        </Confirm>
      ) : null}
    </Stage>
  );
}
