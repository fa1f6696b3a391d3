import { useEffect, useId, useState } from 'preact/hooks';
import { Choice } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/notices.tsx';
import { Copy, download, Name } from '../parts/text.tsx';
import { asRequestError, request, type RequestError } from '../requests.ts';
import { FORMATS } from './formats.ts';

interface ExportsProps {
  readonly id: string;
  readonly name: string;
  readonly isNew: boolean;
  onClose(): void;
}

/** The key as configuration for both ends, side by side. */
export function Exports({ id, name, isNew, onClose }: ExportsProps) {
  return (
    <Dialog
      title={
        <>
          {isNew ? 'Key created: ' : 'Export '}
          <Name text={name} />
        </>
      }
      size="wide"
      onClose={onClose}
    >
      <div class="dialog-body">
        <p class="muted">
          {isNew ? 'Install it on both ends. ' : ''}
          Each text contains the secret. The audit trail records who saw it.
        </p>
        <div class="halves">
          <Side id={id} side="primary" title="The end that accepts requests" />
          <Side id={id} side="secondary" title="The end that requests" />
        </div>
        <div class="dialog-actions">
          <button type="button" class="button primary" onClick={onClose}>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  );
}

interface Shown {
  readonly text?: string;
  readonly fileName?: string;
  readonly error?: RequestError;
}

const PRIMARY = /^[0-9a-fA-F.:[\]]{3,60}$/;

interface SideProps {
  readonly id: string;
  readonly side: 'primary' | 'secondary';
  readonly title: string;
}

function Side({ id, side, title }: SideProps) {
  const usable = FORMATS.filter(({ ends }) => ends.includes(side));
  const [format, setFormat] = useState(usable[0]?.name ?? 'bind');
  const [primary, setPrimary] = useState('');
  const [zone, setZone] = useState('');
  const [isAsked, setAsked] = useState(false);
  const [shown, setShown] = useState<Shown>({});
  const isServer = usable.some((each) => each.name === format && each.isServer);
  const needsPrimary = side === 'secondary' && isServer;
  const lacksPrimary = needsPrimary && !PRIMARY.test(primary);

  useEffect(() => {
    setShown({});
    if (!isAsked) return;
    const abort = new AbortController();
    if (lacksPrimary) return;
    const parameters = new URLSearchParams({ format });
    if (needsPrimary) {
      parameters.set('for', 'secondary');
      parameters.set('primary', primary);
      if (zone !== '') parameters.set('zone', zone);
    }
    const read = async () => {
      try {
        const { body, headers } = await request<string | object>(
          `v2/tsigkeys/${id}/export?${parameters.toString()}`,
          { signal: abort.signal },
        );
        const name = /filename="?([^";]+)/.exec(headers.get('Content-Disposition') ?? '')?.[1];
        const text = typeof body === 'string' ? body : JSON.stringify(body, null, 2);
        setShown({ text, fileName: name ?? `${format}.txt` });
      } catch (error) {
        if (!abort.signal.aborted) setShown({ error: asRequestError(error) });
      }
    };
    const timer = setTimeout(() => void read(), 250);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [format, primary, zone, isAsked, needsPrimary]);

  return (
    <section class="stack-s" aria-label={title}>
      <h3 class="label">{title}</h3>
      <Choice
        label="Program"
        value={format}
        choices={usable.map(({ name, label }) => [name, label])}
        choose={setFormat}
      />
      {needsPrimary ? (
        <div class="halves">
          <Text
            label="Address of the primary"
            example="192.0.2.53"
            value={primary}
            set={setPrimary}
          />
          <Text label="Zone (optional)" example="example.org" value={zone} set={setZone} />
        </div>
      ) : null}
      {shown.error === undefined ? null : <Problem error={shown.error} />}
      {shown.text === undefined ? null : (
        <div class="code">
          <pre tabIndex={0} aria-label={`Configuration: ${title}`}>
            {shown.text}
          </pre>
        </div>
      )}
      <div class="row">
        {!isAsked ? (
          <button type="button" class="button" onClick={() => setAsked(true)}>
            Show<span class="hidden"> the text for: {title}</span>
          </button>
        ) : shown.text === undefined ? (
          shown.error === undefined && lacksPrimary ? (
            <p class="hint">Enter the address of the primary.</p>
          ) : null
        ) : (
          <>
            <Copy text={() => shown.text ?? ''} what="the configuration" />
            <button
              type="button"
              class="button"
              onClick={() => download(shown.fileName ?? 'key.txt', shown.text ?? '')}
            >
              Download
            </button>
          </>
        )}
      </div>
    </section>
  );
}

function Text(props: { label: string; example: string; value: string; set(value: string): void }) {
  const { label, example, value, set } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input mono"
        placeholder={example}
        autocomplete="off"
        value={value}
        onInput={(event) => set(event.currentTarget.value.trim())}
      />
    </div>
  );
}
