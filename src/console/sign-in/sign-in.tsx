import { useState } from 'preact/hooks';
import { TextField } from '../parts/inputs.tsx';
import { Mark } from '../parts/mark.tsx';
import { Problem } from '../parts/notices.tsx';
import { useSubmit } from '../parts/submit.ts';
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
  const { error, isBusy, onSubmit } = useSubmit(() =>
    signIn({ method: 'token', token: token.trim() }),
  );
  return (
    <form class="stack" onSubmit={onSubmit}>
      <TextField
        label="Token"
        hint="It is not stored in this browser."
        isSecret
        value={token}
        set={setToken}
      />
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
