import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Mark } from '../parts/icons.tsx';
import { asRequestError, type RequestError } from '../requests.ts';
import { SERVICE } from '../router.ts';
import { door, isLinkSpent, session, signIn, type Choice, type Credentials } from '../session.ts';
import { visible } from '../parts/text.tsx';

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

const METHODS: Readonly<Record<string, string>> = { keystone: 'Keystone', token: 'Token' };

/** Signs in, with the method that the person chooses if there are several. */
export function SignInForm() {
  const { methods: offered = ['token'] } = door.value ?? session.value ?? {};
  const methods = offered.filter((name) => name in METHODS);
  const [method, setMethod] = useState(methods[0] ?? 'token');
  return (
    <div class="stack">
      {methods.length < 2 ? null : (
        <div class="tabs" role="group" aria-label="How to sign in">
          {methods.map((name) => (
            <button
              type="button"
              key={name}
              aria-pressed={name === method}
              onClick={() => setMethod(name)}
            >
              {METHODS[name]}
            </button>
          ))}
        </div>
      )}
      {method === 'keystone' ? <KeystoneForm /> : <TokenForm />}
    </div>
  );
}

function TokenForm() {
  const [token, setToken] = useState('');
  const { submit, error, isBusy } = useSignIn();
  return (
    <SubmitForm onSubmit={() => submit({ method: 'token', token: token.trim() })}>
      <Input
        label="Token"
        type="password"
        autocomplete="current-password"
        hint="It is not stored in this browser."
        value={token}
        set={setToken}
      />
      <Outcome error={error} isBusy={isBusy} />
      {session.value !== undefined ? null : (
        <p class="hint">
          First start? The service logged the name of the file with the first token. Without the
          console: <a href={`${SERVICE}docs`}>API reference</a>.
        </p>
      )}
    </SubmitForm>
  );
}

function KeystoneForm() {
  const [user, setUser] = useState('');
  const [domain, setDomain] = useState('Default');
  const [password, setPassword] = useState('');
  const [passcode, setPasscode] = useState('');
  const [choice, setChoice] = useState<Choice>();
  const [project, setProject] = useState('');
  const { submit, error, isBusy } = useSignIn();
  const [needsPasscode, setNeeded] = useState(false);
  useEffect(() => {
    if (error?.type === 'passcode_required') setNeeded(true);
  }, [error]);

  const start = async () => {
    const body = { method: 'keystone', user: user.trim(), user_domain: domain.trim(), password };
    const code = passcode.trim();
    const chosen = await submit(code === '' ? body : Object.assign(body, { passcode: code }));
    if (chosen === undefined) return;
    setPassword('');
    setPasscode('');
    setProject(chosen.projects[0]?.id ?? '');
    setChoice(chosen);
  };
  const finish = async ({ code }: Choice) => {
    await submit({ method: 'keystone', code, project });
    // The code is used up: after a failure, only the password helps.
    setChoice(undefined);
  };
  if (choice !== undefined)
    return (
      <SubmitForm onSubmit={() => finish(choice)}>
        <ProjectField choice={choice} value={project} set={setProject} />
        <Outcome error={error} isBusy={isBusy} />
        <button type="button" class="button" onClick={() => setChoice(undefined)}>
          Sign in as somebody else
        </button>
      </SubmitForm>
    );
  return (
    <SubmitForm onSubmit={start}>
      <Input label="User" autocomplete="username" value={user} set={setUser} />
      <Input label="Domain" autocomplete="off" value={domain} set={setDomain} />
      <Input
        label="Password"
        type="password"
        autocomplete="current-password"
        value={password}
        set={setPassword}
      />
      {needsPasscode ? (
        <Input
          label="Code from your app"
          autocomplete="one-time-code"
          inputMode="numeric"
          isFocused
          value={passcode}
          set={setPasscode}
        />
      ) : null}
      <Outcome error={error} isBusy={isBusy} />
    </SubmitForm>
  );
}

function ProjectField(props: { choice: Choice; value: string; set(id: string): void }) {
  const { choice, value, set } = props;
  const id = useId();
  const element = useRef<HTMLSelectElement>(null);
  useEffect(() => element.current?.focus(), []);
  const names = choice.projects.map(({ name }) => name);
  const isAmbiguous = (name: string) => names.indexOf(name) !== names.lastIndexOf(name);
  return (
    <div class="field">
      <label for={id}>Project</label>
      <select
        ref={element}
        id={id}
        class="input"
        value={value}
        onChange={(event) => set(event.currentTarget.value)}
      >
        {choice.projects.map(({ id: projectId, name, domain_id: domainId }) => (
          <option key={projectId} value={projectId}>
            {visible(isAmbiguous(name) ? `${name} (domain ${domainId})` : name)}
          </option>
        ))}
      </select>
      <p class="hint">You see and create the zones of this project.</p>
    </div>
  );
}

/** Sends credentials, and says what became of them. */
function useSignIn() {
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (credentials: Credentials): Promise<Choice | undefined> => {
    if (isBusy) return undefined;
    setBusy(true);
    setError(undefined);
    try {
      return await signIn(credentials);
    } catch (failure) {
      setError(asRequestError(failure));
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { submit, error, isBusy };
}

function SubmitForm(props: { onSubmit(): Promise<unknown>; children: ComponentChildren }) {
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void props.onSubmit();
      }}
    >
      {props.children}
    </form>
  );
}

interface InputProps {
  readonly label: string;
  readonly type?: 'text' | 'password';
  readonly autocomplete: 'username' | 'current-password' | 'one-time-code' | 'off';
  readonly inputMode?: 'numeric';
  readonly hint?: string;
  /** Whether the input takes the focus when it appears. */
  readonly isFocused?: boolean;
  readonly value: string;
  set(value: string): void;
}

const TYPES = { text: { type: 'text' }, password: { type: 'password' } } as const;

function Input({ label, type = 'text', hint, isFocused, value, set, ...further }: InputProps) {
  const id = useId();
  const element = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isFocused === true) element.current?.focus();
  }, []);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        ref={element}
        id={id}
        class="input mono"
        {...TYPES[type]}
        autocomplete={further.autocomplete}
        inputMode={further.inputMode}
        autocapitalize="off"
        spellcheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        value={value}
        onInput={(event) => set(event.currentTarget.value)}
      />
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** Why the sign-in failed, if it did, and the button for the next attempt. */
function Outcome({ error, isBusy }: { error: RequestError | undefined; isBusy: boolean }) {
  return (
    <>
      {error === undefined ? null : (
        <div class={error.type === 'passcode_required' ? 'alert warn' : 'alert bad'} role="alert">
          <p>{error.message}</p>
          {error.retryAfterSeconds === undefined ? null : (
            <p>Try again in {error.retryAfterSeconds} s.</p>
          )}
        </div>
      )}
      <button type="submit" class="button primary" aria-disabled={isBusy}>
        Sign in
      </button>
    </>
  );
}
