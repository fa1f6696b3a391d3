import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { forgetName } from '../names.ts';
import { asRequestError, request, type RequestError } from '../requests.ts';
import { CloseAction, Confirm, Dialog } from './dialog.tsx';
import { Problem } from './notices.tsx';
import { count, Name, Names, type Named } from './text.tsx';
import { showToast } from './toasts.tsx';

/** What a dialog that deletes the chosen rows of a list tells the list. */
export interface DeletionProps {
  /** The entity tags of the rows as they are shown, by id. */
  readonly tags: ReadonlyMap<string, string>;
  onClose(): void;
  /** Says which resources do not exist any more. */
  onDeleted(ids: readonly string[]): void;
}

interface SeveralProps<T extends Named> extends DeletionProps {
  readonly collection: string;
  readonly words: readonly [one: string, many: string];
  /** In the order in which they are deleted. */
  readonly rows: readonly T[];
  /** What stops working. */
  readonly children: ComponentChildren;
  undo?: ((rows: readonly T[]) => Promise<void>) | undefined;
}

interface Report<T> {
  readonly deleted: readonly T[];
  /** Those that somebody else had deleted. */
  readonly gone: readonly T[];
  readonly kept: readonly T[];
  /** Why the first of `kept` was not deleted. Absent: the person stopped it. */
  readonly error: RequestError | undefined;
}

/** Returns whether the service says that a resource does not exist, as opposed to a proxy. */
export function isGone({ type }: RequestError): boolean {
  return type.endsWith('_not_found');
}

/** Deletes several resources, one after the other, until the first refusal. */
export function DeleteSeveral<T extends Named>(props: SeveralProps<T>) {
  const { collection, words, rows, tags, children, undo, onClose, onDeleted } = props;
  const [at, setAt] = useState<number>();
  const [report, setReport] = useState<Report<T>>();
  const isStopped = useRef(false);
  // Whoever leaves the page sees no refusal any more.
  useEffect(() => () => void (isStopped.current = true), []);
  const run = async () => {
    const gone: T[] = [];
    let done = 0;
    let error: RequestError | undefined;
    for (const row of rows) {
      if (isStopped.current) break;
      setAt(done + 1);
      try {
        const headers = { 'If-Match': tags.get(row.id) ?? '"changed"' };
        await request(`v2/${collection}/${row.id}`, { method: 'DELETE', headers });
      } catch (failure) {
        error = asRequestError(failure);
        if (!isGone(error)) break;
        error = undefined;
        gone.push(row);
      }
      forgetName(collection, row.id);
      done += 1;
    }
    const deleted = rows.slice(0, done).filter((row) => !gone.includes(row));
    onDeleted(rows.slice(0, done).map(({ id }) => id));
    const action =
      undo === undefined ? undefined : { label: 'Undo', run: () => void undo(deleted) };
    if (deleted.length > 0) showToast(`${count(deleted.length, ...words)} deleted`, action);
    if (deleted.length < rows.length) setReport({ deleted, gone, kept: rows.slice(done), error });
    else onClose();
  };
  if (report !== undefined) return <Outcome report={report} words={words} onClose={onClose} />;
  const number = count(rows.length, ...words);
  return (
    <Confirm
      title={`Delete ${number}?`}
      action={`Delete ${number}`}
      keep={at === undefined ? 'Keep' : 'Stop'}
      typed={String(rows.length)}
      run={run}
      onClose={() => {
        if (at === undefined) onClose();
        else isStopped.current = true;
      }}
    >
      <p>
        <Names names={rows.map(({ name }) => name)} of={rows.length} />
      </p>
      {children}
      <p role="status" class="muted">
        {at === undefined ? '' : `Deleting ${at} of ${rows.length}…`}
      </p>
    </Confirm>
  );
}

function Outcome<T extends Named>(props: {
  report: Report<T>;
  words: readonly [one: string, many: string];
  onClose(): void;
}) {
  const { words, onClose } = props;
  const { deleted, gone, kept, error } = props.report;
  const [first] = kept;
  const all = deleted.length + gone.length + kept.length;
  const lists = [
    ['Deleted', deleted],
    ['Deleted by somebody else before', gone],
    ['Not deleted', kept],
  ] as const;
  return (
    <Dialog
      title={`${deleted.length} of ${count(all, ...words)} deleted`}
      size="small-dialog"
      onClose={onClose}
    >
      <div class="dialog-body">
        {error === undefined || first === undefined ? null : (
          <>
            <p>
              It stopped at <Name text={first.name} />
              {error.status === 0 || error.status >= 500
                ? ', which may be deleted nevertheless:'
                : ', which was refused:'}
            </p>
            <Problem error={error} />
          </>
        )}
        {lists.map(([label, rows]) =>
          rows.length === 0 ? null : (
            <p key={label}>
              <b>{label}:</b> <Names names={rows.map(({ name }) => name)} of={rows.length} />
            </p>
          ),
        )}
        {kept.length === 0 ? null : <p class="muted">What was not deleted stays selected.</p>}
        <CloseAction onClose={onClose} />
      </div>
    </Dialog>
  );
}
