import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { copy, download, visible } from '../parts/text.tsx';

/** A new token, which is shown once. Closing it before it was copied asks. */
export function NewToken(props: { name: string; token: string; onClose(): void }) {
  const { name, token, onClose } = props;
  const [isTaken, setTaken] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const mustAsk = isAsking && !isTaken;
  const close = () => (isTaken || isAsking ? onClose() : setAsking(true));
  const taking = (take: () => void) => () => {
    setTaken(true);
    take();
  };
  return (
    <Dialog title={`Token created: ${visible(name)}`} onClose={close}>
      <div class="dialog-body">
        <p>Copy it now. It is not shown again, because the service stores only its hash.</p>
        <code class="secret">{token}</code>
        <div class="row">
          <button
            type="button"
            class="button primary"
            data-first=""
            onClick={taking(() => void copy(() => token, 'the token'))}
          >
            Copy<span class="hidden"> the token</span>
          </button>
          <button
            type="button"
            class="button"
            onClick={taking(() =>
              download(`${name.replace(/[^\w.-]+/g, '-')}.token`, `${token}\n`),
            )}
          >
            Download
          </button>
        </div>
        {mustAsk ? (
          <p class="alert warn" role="alert">
            You have not copied the token. Once this is closed, nobody can read it again.
          </p>
        ) : null}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={close}>
            {mustAsk ? 'Close without copying' : 'Close'}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
