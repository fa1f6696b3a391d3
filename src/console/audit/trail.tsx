import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { Confirm, Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/notices.tsx';
import { Ago, count, download } from '../parts/text.tsx';
import { asRequestError, get, type RequestError } from '../requests.ts';
import type { Verification } from '../resources.ts';

const AS_LINES = { Accept: 'application/x-ndjson' };

interface Batches {
  readonly batches: readonly { readonly number: number; readonly at: string }[];
}

/** Until when the trail is sealed, and whether its chain is intact once somebody verified it. */
export function Seal() {
  const { data } = useLive<Batches>('v2/audit/batches?limit=1');
  const [last] = data?.batches ?? [];
  const [checked, setChecked] = useState<Verified>();
  const [isOpen, setOpen] = useState(false);
  if (data === undefined) return null;
  return (
    <>
      <span>
        {last === undefined ? (
          'Nothing is sealed yet.'
        ) : (
          <>
            Sealed to <time dateTime={`${last.at}Z`}>{last.at.slice(11, 19)}</time> UTC, batch{' '}
            {last.number.toLocaleString('en')}
          </>
        )}
        {checked === undefined ? null : isIntact(checked) ? (
          <span class="ok">
            {' '}
            ✓ chain intact (checked <Ago at={checked.at} />)
          </span>
        ) : (
          <span class="bad"> ✕ {count(checked.problems.length, 'problem')}</span>
        )}
      </span>
      <button type="button" class="button text" onClick={() => setOpen(true)}>
        Verify
      </button>
      {isOpen ? (
        <Verifying
          onVerified={(result) => setChecked(result)}
          result={checked}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  );
}

/** The sum of all parts of a verification. */
interface Verified extends Verification {
  readonly at: string;
}

function isIntact({ problems, head }: Verified): boolean {
  return problems.length === 0 && head !== undefined;
}

async function verify(): Promise<Verified> {
  const text = await get<string>('v2/audit/verify', { headers: AS_LINES });
  const parts = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Verification);
  const sum = (member: 'batches' | 'records' | 'purged' | 'without_mac' | 'unchecked') =>
    parts.reduce((total, part) => total + part[member], 0);
  const head = parts.at(-1)?.head;
  const result = {
    at: new Date().toISOString().slice(0, 19),
    batches: sum('batches'),
    records: sum('records'),
    purged: sum('purged'),
    without_mac: sum('without_mac'),
    unchecked: sum('unchecked'),
    problems: parts.flatMap(({ problems }) => problems),
  };
  return head === undefined ? result : Object.assign(result, { head });
}

const SHOWN_PROBLEMS = 20;

function Verifying(props: {
  result: Verified | undefined;
  onVerified(result: Verified | undefined): void;
  onClose(): void;
}) {
  const { result, onVerified, onClose } = props;
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setError(undefined);
    onVerified(undefined);
    try {
      onVerified(await verify());
    } catch (failure) {
      setError(asRequestError(failure));
    }
    setBusy(false);
  };
  return (
    <Dialog title="Verify the audit trail" onClose={onClose}>
      <div class="dialog-body">
        <p>
          Computes every hash and MAC again, to see whether a record was changed, deleted or
          inserted. A million records take up to a minute.
        </p>
        <div role="status">
          {isBusy ? <p class="muted">Verifying…</p> : <Result result={result} />}
        </div>
        {error === undefined ? null : <Problem error={error} />}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button
            type="button"
            class="button primary"
            data-first=""
            aria-disabled={isBusy}
            onClick={() => isBusy || void run()}
          >
            Verify trail
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Result({ result }: { result: Verified | undefined }) {
  if (result === undefined) return null;
  const { batches, records, purged, without_mac: open, unchecked, problems, head } = result;
  if (head === undefined)
    return <p class="alert bad">The response ended early, so nothing is proven. Try again.</p>;
  const limits = [
    [purged, 'were deleted by retention, so only their links were checked'],
    [open, 'have no MAC, because they were sealed without a master key'],
    [unchecked, 'could not be checked, because a key was lost'],
  ] as const;
  return (
    <div class={`alert ${problems.length === 0 ? 'ok' : 'bad'}`}>
      <p>
        <b>{problems.length === 0 ? 'Chain intact.' : `${count(problems.length, 'problem')}.`}</b>{' '}
        {count(records, 'record')} in {count(batches, 'batch', 'batches')} checked.
      </p>
      {limits.map(([number, text]) =>
        number === 0 ? null : (
          <p key={text}>
            {count(number, 'batch', 'batches')} {text}.
          </p>
        ),
      )}
      <ul>
        {problems.slice(0, SHOWN_PROBLEMS).map(({ batch, problem }) => (
          <li key={`${batch ?? ''} ${problem}`}>
            {batch === null ? '' : `Batch ${batch}: `}
            {problem}
          </li>
        ))}
      </ul>
      <p class="hint">
        Only a checkpoint outside the database also shows that no batch is missing at the end:{' '}
        <code>tsigil audit verify --checkpoints FILE</code>
      </p>
    </div>
  );
}

/** Writes the filtered records to a file. */
export function Exporting({ filters, onClose }: { filters: string; onClose(): void }) {
  return (
    <Confirm
      title="Export audit records"
      action="Export records"
      isDangerous={false}
      run={async () => {
        const lines = await get<string>(`v2/audit?${filters}`, { headers: AS_LINES });
        download(`audit-${new Date().toISOString().slice(0, 10)}.jsonl`, lines);
        onClose();
      }}
      onClose={onClose}
    >
      <p>
        The file has every sealed record that the filters show, one JSON object on each line, the
        oldest first.
      </p>
      <p class="muted small">
        For more than a few 100,000 records, use <code>tsigil audit export</code>, which writes them
        as they arrive.
      </p>
    </Confirm>
  );
}
