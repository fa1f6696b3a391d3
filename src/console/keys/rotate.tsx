import { useId, useState } from 'preact/hooks';
import { Choice } from '../parts/choice.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Name } from '../parts/text.tsx';
import { request } from '../requests.ts';
import type { Key } from '../resources.ts';

const OVERLAPS: readonly (readonly [string, string])[] = [
  ['', 'As configured'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['604800', '7 days'],
  ['2592000', '30 days'],
];

const RETIRE: readonly (readonly [string, string])[] = [
  ['', 'As soon as it is known that all clients have moved'],
  ['automatic', 'After the overlap, even if the clients are not known'],
  ['manual', 'By hand'],
];

/** Starts the replacement of a key. */
export function Rotate(props: { keyData: Key; onClose(): void; onRotated(): void }) {
  const { keyData, onClose, onRotated } = props;
  const [name, setName] = useState('');
  const [overlap, setOverlap] = useState('');
  const [retire, setRetire] = useState('');
  const [isCompromised, setCompromised] = useState(false);
  const id = useId();
  const run = async () => {
    const body: Record<string, unknown> = isCompromised ? { compromised: true } : {};
    if (name.trim() !== '') body.name = name.trim();
    if (!isCompromised && overlap !== '') body.overlap_seconds = Number(overlap);
    if (!isCompromised && retire !== '') body.retire = retire;
    await request(`v2/tsigkeys/${keyData.id}/rotate`, { method: 'POST', body });
    onRotated();
  };
  const title = (
    <>
      Rotate <Name text={keyData.name} />
    </>
  );
  const action = isCompromised ? 'Replace and delete' : 'Rotate key';
  return (
    <Confirm {...{ title, action, run, onClose }} isDangerous={isCompromised}>
      <p class="muted">
        A successor with the same scope and rights is created and delivered. Both keys work until
        all clients have moved and the overlap is over.
      </p>
      <div class="field">
        <label for={id}>
          New name <span class="muted small">optional</span>
        </label>
        <input
          id={id}
          class="input mono"
          autocomplete="off"
          spellcheck={false}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <p class="hint">Without one, the first label gets -r2, -r3 and so on.</p>
      </div>
      {isCompromised ? (
        <p class="alert warn">
          The old key is deleted at once. Its clients fail until they have the new one.
        </p>
      ) : (
        <>
          <Choice label="Overlap" value={overlap} choices={OVERLAPS} choose={setOverlap} />
          <Choice label="Retire the old key" value={retire} choices={RETIRE} choose={setRetire} />
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
    </Confirm>
  );
}
