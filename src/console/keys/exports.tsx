import { useEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Choice, TextField } from '../parts/inputs.tsx';
import { Problem } from '../parts/notices.tsx';
import { Copy, download, visible } from '../parts/text.tsx';
import { get } from '../requests.ts';
import { isExpired } from '../session.ts';
import { FORMATS } from './formats.ts';

interface ExportsProps {
  readonly id: string;
  readonly title: string;
  onClose(): void;
}

/** The key as configuration for both ends, side by side. */
export function Exports({ id, title, onClose }: ExportsProps) {
  return (
    <Dialog title={visible(title)} size="wide" onClose={onClose}>
      <p class="muted">
        Install it on both ends. Each text contains the secret. The audit trail records who saw it.
      </p>
      <div class="halves">
        <Side id={id} side="primary" title="The end that accepts requests" />
        <Side id={id} side="secondary" title="The end that requests" />
      </div>
      <div class="dialog-actions">
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

interface SideProps {
  readonly id: string;
  readonly side: 'primary' | 'secondary';
  readonly title: string;
}

function Side({ id, side, title }: SideProps) {
  const usable = FORMATS.filter(({ ends }) => ends.includes(side));
  const [format, setFormat] = useState('bind');
  const [primary, setPrimary] = useState('');
  const [zone, setZone] = useState('');
  const [asked, setAsked] = useState<string>();
  const isEnded = isExpired.value;
  useEffect(() => {
    if (isEnded) setAsked(undefined);
  }, [isEnded]);
  const isServer = usable.some((each) => each.name === format && each.isServer);
  const needsPrimary = side === 'secondary' && isServer;
  const query = new URLSearchParams({ format });
  if (needsPrimary) {
    query.set('for', 'secondary');
    query.set('primary', primary.trim());
    if (zone.trim() !== '') query.set('zone', zone.trim());
  }
  const path = `v2/tsigkeys/${id}/export?${query.toString()}`;
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
          <TextField
            label="Address of the primary"
            placeholder="192.0.2.53"
            value={primary}
            set={setPrimary}
          />
          <TextField label="Zone (optional)" placeholder="example.org" value={zone} set={setZone} />
        </div>
      ) : null}
      {asked === path ? (
        <Text path={path} title={title} />
      ) : (
        <div>
          <Button aria-disabled={needsPrimary && primary === ''} onClick={() => setAsked(path)}>
            Show<span class="hidden"> the text for: {title}</span>
          </Button>
        </div>
      )}
    </section>
  );
}

/** The text of one end, which is read once: each time is in the audit trail. */
function Text({ path, title }: { path: string; title: string }) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    get<string | object>(path).then(
      (body) => setText(typeof body === 'string' ? body : JSON.stringify(body, null, 2)),
      setError,
    );
  }, []);
  if (error !== undefined) return <Problem error={error} />;
  if (text === undefined) return null;
  return (
    <>
      <div class="code">
        <pre tabIndex={0} aria-label={`Configuration: ${title}`}>
          {text}
        </pre>
      </div>
      <div class="row">
        <Copy text={() => text} what="the configuration" />
        <Button onClick={() => download('key.txt', text)}>Download</Button>
      </div>
    </>
  );
}
