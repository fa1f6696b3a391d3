import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { copy, download, Name } from '../parts/text.tsx';
import { SERVICE } from '../router.ts';

/** A new token, which is shown once. Closing it before it was copied asks. */
export function NewToken(props: { name: string; token: string; onClose(): void }) {
  const { name, token, onClose } = props;
  const [isTaken, setTaken] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const file = `${name.replace(/[^\w.-]+/g, '-')}.token`;
  const close = () => (isTaken || isAsking ? onClose() : setAsking(true));
  const example = `printf 'X-Auth-Token: %s' "$(cat ./${file})" |\n  curl -H @- ${location.origin}${SERVICE}v2/whoami`;
  return (
    <Dialog
      title={
        <>
          Token created: <Name text={name} />
        </>
      }
      onClose={close}
    >
      <div class="dialog-body">
        <p>Copy it now. It is not shown again, because the service stores only its hash.</p>
        <code class="secret">{token}</code>
        <div class="row">
          <button
            type="button"
            class="button primary"
            data-first=""
            onClick={() => {
              setTaken(true);
              void copy(() => token, 'the token');
            }}
          >
            Copy<span class="hidden"> the token</span>
          </button>
          <button
            type="button"
            class="button"
            onClick={() => {
              setTaken(true);
              download(file, `${token}\n`);
            }}
          >
            Download
          </button>
        </div>
        <details>
          <summary class="label">Example with curl</summary>
          <div class="code">
            <pre tabIndex={0} aria-label="Example with curl">
              {example}
            </pre>
          </div>
        </details>
        {isAsking && !isTaken ? (
          <p class="alert warn" role="alert">
            You have not copied the token. Once this is closed, nobody can read it again.
          </p>
        ) : null}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={close}>
            {isAsking && !isTaken ? 'Close without copying' : 'Close'}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
