import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
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
      <p>Copy it now. It is not shown again, because the service stores only its hash.</p>
      <code class="secret">{token}</code>
      <div class="row">
        <Button
          look="primary"
          data-first=""
          onClick={taking(() => void copy(() => token, 'the token'))}
        >
          Copy<span class="hidden"> the token</span>
        </Button>
        <Button
          onClick={taking(() => download(`${name.replace(/[^\w.-]+/g, '-')}.token`, `${token}\n`))}
        >
          Download
        </Button>
      </div>
      {mustAsk ? (
        <p class="alert warn" role="alert">
          You have not copied the token. Once this is closed, nobody can read it again.
        </p>
      ) : null}
      <div class="dialog-actions">
        <Button onClick={close}>{mustAsk ? 'Close without copying' : 'Close'}</Button>
      </div>
    </Dialog>
  );
}
