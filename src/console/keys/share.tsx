import { useId, useState } from 'preact/hooks';
import { Alert, Problem } from '../parts/notices.tsx';
import { count, Copy } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { asRequestError, get, type RequestError } from '../requests.ts';

const EXPIRIES = [
  [3600, '1 hour'],
  [86_400, '1 day'],
  [604_800, '7 days'],
] as const;

interface ShareLinkProps {
  readonly id: string;
  /** What the link shows, as the parameters of an export. */
  readonly receiver: Readonly<Record<string, string>>;
  readonly program: string;
  /** Why no link can be created yet. */
  readonly missing: string | undefined;
  /** Whom the link is for, for readers of the screen. */
  readonly whom: string;
}

/** Creates a link that shows the key once to somebody without a token. */
export function ShareLink({ id, receiver, program, missing, whom }: ShareLinkProps) {
  const [isOpen, setOpen] = useState(false);
  const [expiry, setExpiry] = useState('604800');
  const [link, setLink] = useState<{ url: string; expires_at: string; program: string }>();
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const expiryId = useId();
  const create = async () => {
    if (isBusy || missing !== undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      const body = Object.assign({ expires_seconds: Number(expiry) }, receiver);
      const created = await get<{ url: string; expires_at: string }>(`v2/tsigkeys/${id}/share`, {
        method: 'POST',
        body,
      });
      setLink(Object.assign(created, { program }));
      setOpen(false);
    } catch (failure) {
      setError(asRequestError(failure));
    }
    setBusy(false);
  };
  return (
    <div class="stack-s">
      {link === undefined ? null : (
        <>
          <div class="code">
            <pre tabIndex={0} aria-label={`Share link: ${whom}`}>
              {link.url}
            </pre>
          </div>
          <Alert kind="ok">
            This link shows the key for {link.program} once, until{' '}
            {link.expires_at.slice(0, 16).replace('T', ' ')} UTC. Copy it now, because the console
            does not show it again.
          </Alert>
          <div class="row">
            <Copy text={() => link.url} what="the share link" />
          </div>
        </>
      )}
      {isOpen ? (
        <>
          <div class="field">
            <label for={expiryId}>The link expires after</label>
            <select
              id={expiryId}
              class="input"
              value={expiry}
              onChange={(event) => setExpiry(event.currentTarget.value)}
            >
              {EXPIRIES.map(([seconds, label]) => (
                <option key={seconds} value={String(seconds)}>
                  {label}
                </option>
              ))}
            </select>
          </div>
          {error === undefined ? null : <Problem error={error} />}
          {missing === undefined ? null : <p class="hint">{missing}</p>}
          <div class="row">
            <button
              type="button"
              class="button"
              aria-disabled={isBusy || missing !== undefined}
              onClick={() => void create()}
            >
              Create link<span class="hidden"> for: {whom}</span>
            </button>
            <button type="button" class="button text" onClick={() => setOpen(false)}>
              Cancel
            </button>
          </div>
        </>
      ) : (
        <div class="row">
          <button type="button" class="button" onClick={() => setOpen(true)}>
            Create a share link<span class="hidden"> for: {whom}</span>
          </button>
        </div>
      )}
    </div>
  );
}

/** Voids all links to a key that still work. */
export function VoidLinks({ id }: { id: string }) {
  const [error, setError] = useState<RequestError>();
  const withdraw = async () => {
    setError(undefined);
    try {
      const path = `v2/tsigkeys/${id}/unshare`;
      const { count: voided } = await get<{ count: number }>(path, { method: 'POST' });
      showToast(
        voided === 0
          ? 'No link to this key works.'
          : `${count(voided, 'link')} ${voided === 1 ? 'no longer works' : 'no longer work'}.`,
      );
    } catch (failure) {
      setError(asRequestError(failure));
    }
  };
  return (
    <>
      {error === undefined ? null : <Problem error={error} />}
      <button type="button" class="button" onClick={() => void withdraw()}>
        Void the links
      </button>
    </>
  );
}
