import { useEffect, useRef, useState } from 'preact/hooks';
import { atOnce } from '../parts/acts.tsx';
import { Button } from '../parts/button.tsx';
import { Copy } from '../parts/text.tsx';
import { send } from '../requests.ts';
import { may } from '../session.ts';

const SHOWN_SECONDS = 30;

async function reveal(id: string): Promise<string> {
  return (await send<{ secret: string }>(`v2/tsigkeys/${id}/reveal`, 'POST', {})).secret;
}

/**
 * The secret of a key, hidden until somebody asks for it, and again after 30 s. Each request of it
 * is in the audit trail. Nothing else has the value.
 */
export function Secret({ id }: { id: string }) {
  const [secret, setSecret] = useState<string>();
  const [left, setLeft] = useState(0);
  const isShown = secret !== undefined;
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isShown) return;
    const timer = setInterval(() => setLeft((seconds) => seconds - 1), 1000);
    const hide = () => document.visibilityState === 'hidden' && setSecret(undefined);
    document.addEventListener('visibilitychange', hide);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', hide);
    };
  }, [isShown]);
  useEffect(() => {
    if (isShown && left <= 0) setSecret(undefined);
  }, [left]);
  const show = async () => {
    const value = await reveal(id);
    setLeft(SHOWN_SECONDS);
    setSecret(value);
  };
  if (!may('tsigkeys:reveal'))
    return <span class="muted">Hidden. Seeing it needs the right tsigkeys:reveal.</span>;
  return (
    <div class="row">
      {secret === undefined ? (
        <span class="mono muted">
          <span aria-hidden="true">••••••••••••••••</span>
          <span class="hidden">Hidden</span>
        </span>
      ) : (
        <code class="secret">{secret.match(/.{1,4}/g)?.join(' ')}</code>
      )}
      <button
        ref={button}
        type="button"
        class="button"
        onClick={() => (isShown ? setSecret(undefined) : void atOnce(show))}
      >
        {isShown ? 'Hide' : 'Show'}
        <span class="hidden"> the secret</span>
      </button>
      <Copy text={() => reveal(id)} what="the secret" />
      {isShown ? (
        <span class="muted small">
          Hidden in {left} s.{' '}
          <Button
            look="text"
            onClick={() => {
              setLeft(SHOWN_SECONDS);
              button.current?.focus();
            }}
          >
            Keep showing
          </Button>
        </span>
      ) : null}
    </div>
  );
}
