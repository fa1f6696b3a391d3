import { useId, useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/notices.tsx';
import { Name } from '../parts/text.tsx';
import { asRequestError, request, type RequestError } from '../requests.ts';
import type { Key } from '../resources.ts';

interface RotateProps {
  readonly keyData: Key;
  onClose(): void;
  onRotated(): void;
}

const OVERLAPS = [
  ['', 'As configured'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['604800', '7 days'],
  ['2592000', '30 days'],
] as const;

const RETIRE = [
  ['', 'As soon as it is known that all clients have moved'],
  ['automatic', 'After the overlap, even if the clients are not known'],
  ['manual', 'By hand'],
] as const;

/** Starts the replacement of a key. */
export function Rotate({ keyData, onClose, onRotated }: RotateProps) {
  const [name, setName] = useState('');
  const [overlap, setOverlap] = useState('');
  const [retire, setRetire] = useState('');
  const [isCompromised, setCompromised] = useState(false);
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const ids = [useId(), useId(), useId()] as const;
  const submit = async () => {
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    const body: Record<string, unknown> = {};
    if (name.trim() !== '') body.name = name.trim();
    if (isCompromised) body.compromised = true;
    else {
      if (overlap !== '') body.overlap_seconds = Number(overlap);
      if (retire !== '') body.retire = retire;
    }
    try {
      await request(`v2/tsigkeys/${keyData.id}/rotate`, { method: 'POST', body });
      onRotated();
    } catch (failure) {
      setError(asRequestError(failure));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={
        <>
          Rotate <Name text={keyData.name} />
        </>
      }
      onClose={onClose}
    >
      <form
        class="dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p class="muted">
          A successor with the same scope and rights is created and delivered. Both keys work until
          all clients have moved and the overlap is over.
        </p>
        <div class="field">
          <label for={ids[0]}>
            New name <span class="muted small">optional</span>
          </label>
          <input
            id={ids[0]}
            class="input mono"
            autocomplete="off"
            spellcheck={false}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <p class="hint">Without one, the first label gets -r2, -r3 and so on.</p>
        </div>
        {isCompromised ? null : (
          <>
            <div class="field">
              <label for={ids[1]}>Overlap</label>
              <select
                id={ids[1]}
                class="input"
                value={overlap}
                onChange={(event) => setOverlap(event.currentTarget.value)}
              >
                {OVERLAPS.map(([value, label]) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
              </select>
            </div>
            <fieldset class="field">
              <legend>Retire the old key</legend>
              {RETIRE.map(([value, label]) => (
                <label class="option" key={value}>
                  <input
                    type="radio"
                    name={ids[2]}
                    checked={retire === value}
                    onChange={() => setRetire(value)}
                  />
                  {label}
                </label>
              ))}
            </fieldset>
          </>
        )}
        <label class="option">
          <input
            type="checkbox"
            checked={isCompromised}
            onChange={(event) => setCompromised(event.currentTarget.checked)}
          />
          Others know the secret
        </label>
        {isCompromised ? (
          <div class="alert warn">
            <p>The old key is deleted at once. Its clients fail until they have the new one.</p>
          </div>
        ) : null}
        {error === undefined ? null : <Problem error={error} />}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={`button ${isCompromised ? 'danger' : 'primary'}`}
            aria-disabled={isBusy}
          >
            {isCompromised ? 'Replace and delete' : 'Rotate key'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
