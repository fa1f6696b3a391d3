import { useId, useState } from 'preact/hooks';
import { Mark } from '../parts/mark.tsx';
import { Problem } from '../parts/notices.tsx';
import { asRequestError, type RequestError } from '../requests.ts';
import { SERVICE } from '../router.ts';
import { door, isLinkSpent, session, signIn } from '../session.ts';

/** The page of somebody who is not signed in. */
export function SignIn() {
  document.title = 'Sign in · Tsigil';
  const { secure = true, reason } = door.value ?? {};
  return (
    <main class="sign-in">
      <div class="card">
        <div class="mark">
          <Mark />
          <div>
            <h1 tabIndex={-1}>Sign in to Tsigil</h1>
            <p class="muted small">{location.host}</p>
          </div>
        </div>
        {isLinkSpent.value ? (
          <div class="alert warn" role="alert">
            <p>This link was used before or has expired.</p>
            <p>
              Sign in with a token, or run <code>tsigil console</code> again.
            </p>
          </div>
        ) : null}
        {secure ? (
          <SignInForm />
        ) : (
          <div class="alert warn" role="alert">
            <p>
              <b>You can’t sign in over this connection.</b>
            </p>
            <p>{reason}</p>
          </div>
        )}
      </div>
    </main>
  );
}

/** Signs in with a token. */
export function SignInForm() {
  const [token, setToken] = useState('');
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const submit = async () => {
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    try {
      await signIn({ method: 'token', token: token.trim() });
    } catch (failure) {
      setError(asRequestError(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div class="field">
        <label for={id}>Token</label>
        <input
          id={id}
          class="input mono"
          type="password"
          autocomplete="current-password"
          autocapitalize="off"
          spellcheck={false}
          aria-describedby={`${id}-hint`}
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <p class="hint" id={`${id}-hint`}>
          It is not stored in this browser.
        </p>
      </div>
      {error === undefined ? null : <Problem error={error} />}
      <button type="submit" class="button primary" aria-disabled={isBusy}>
        Sign in
      </button>
      {door.value?.methods.includes('keystone') === true ? (
        <p class="hint">
          A token of Keystone works too: <code>openstack token issue -f value -c id</code>
        </p>
      ) : null}
      {session.value === undefined ? (
        <p class="hint">
          First start? The service logged the name of the file with the first token. Without the
          console: <a href={`${SERVICE}docs`}>API reference</a>.
        </p>
      ) : null}
    </form>
  );
}
