import { useState } from 'preact/hooks';
import { asciiForm } from '../../domain/tld-lists/list.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/notices.tsx';
import { State } from '../parts/states.tsx';
import { count, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { asRequestError, get, request, type RequestError } from '../requests.ts';
import { may } from '../session.ts';

/** A name as it was typed, and in the form in which it is checked and stored. */
interface Spelling {
  readonly typed: string;
  readonly name: string;
}

interface Check extends Spelling {
  readonly allowed: boolean;
  readonly rule: string | null;
  readonly message: string | null;
}

const MOST = 1000;
const SHOWN = 200;

/** Says which of the pasted names a new zone may have, and what to do about the others. */
export function NameCheck({ onClose }: { onClose(): void }) {
  const [text, setText] = useState('');
  const [checks, setChecks] = useState<readonly Check[]>();
  const [error, setError] = useState<RequestError>();
  const names = text
    .split(/[\s,;]+/)
    .filter((name) => name !== '')
    .map((typed) => ({ typed, name: asciiOf(typed) }));
  const run = async (chosen: readonly Spelling[]) => {
    if (chosen.length === 0 || chosen.length > MOST) return;
    setError(undefined);
    try {
      const body = { names: chosen.map(({ name }) => name) };
      const found = await get<{ checks: Omit<Check, 'typed'>[] }>('v2/tlds/check', {
        method: 'POST',
        body,
      });
      // In the order of the request.
      setChecks(
        found.checks.map((check, index) =>
          Object.assign({ typed: chosen[index]?.typed ?? check.name }, check),
        ),
      );
    } catch (failure) {
      setError(asRequestError(failure));
    }
  };
  const refused = checks?.filter(({ allowed }) => !allowed).length ?? 0;
  return (
    <Dialog title="Is this name allowed?" onClose={onClose}>
      <form
        class="dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          void run(names);
        }}
      >
        <div class="field">
          <label for="names-to-check">Names of zones</label>
          <textarea
            id="names-to-check"
            class="input mono"
            rows={4}
            spellcheck={false}
            placeholder="shop.example.uk"
            aria-describedby="names-to-check-hint"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p class={names.length > MOST ? 'problem' : 'hint'} id="names-to-check-hint">
            {names.length > MOST
              ? `These are ${names.length.toLocaleString('en')} names. Check at most 1,000 at a time.`
              : 'Up to 1,000, separated by blanks or lines. Names in Unicode are checked and stored in their ASCII form.'}
          </p>
        </div>
        {error === undefined ? null : <Problem error={error} />}
        <div role="status">
          {checks === undefined ? null : (
            <p>
              {refused === 0
                ? `${count(checks.length, 'name')} allowed.`
                : `${checks.length - refused} of ${count(checks.length, 'name')} allowed.`}
            </p>
          )}
        </div>
        {checks === undefined ? null : (
          <ul class="needs">
            {checks
              .toSorted((one, other) => Number(one.allowed) - Number(other.allowed))
              .slice(0, SHOWN)
              .map((check, index) => (
                <CheckLine
                  key={`${index} ${check.typed}`}
                  check={check}
                  again={() => run(checks)}
                />
              ))}
          </ul>
        )}
        {(checks?.length ?? 0) > SHOWN ? (
          <p class="muted">The first {SHOWN} are shown, the refused ones before the others.</p>
        ) : null}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button
            type="submit"
            class="button primary"
            aria-disabled={names.length === 0 || names.length > MOST}
          >
            Check
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function CheckLine({ check, again }: { check: Check; again(): Promise<void> }) {
  const { typed, name, allowed, rule, message } = check;
  const last = name.replace(/\.$/, '').split('.').at(-1) ?? '';
  const [error, setError] = useState<RequestError>();
  const add = async () => {
    try {
      await request('v2/tlds', { method: 'POST', body: { name: last } });
      showToast(`Added ${visible(last)}`);
      await again();
    } catch (failure) {
      setError(asRequestError(failure));
    }
  };
  return (
    <li class="need">
      <State state={allowed ? 'accepted' : 'refused'} words=" " />
      <span>
        <bdi class="mono">{visible(typed)}</bdi>
        {name === typed ? null : (
          <>
            <span class="muted">, in ASCII </span>
            <bdi class="mono">{visible(name)}</bdi>
          </>
        )}{' '}
        <span class="muted">{allowed ? 'allowed' : 'not allowed'}</span>
      </span>
      {message === null ? null : (
        <span class="detail">
          <bdi>{visible(message)}</bdi>{' '}
          {rule !== 'tld_entry' ? null : may('tlds:create') ? (
            <button type="button" class="button text" onClick={() => void add()}>
              {`Add ‘${visible(last)}’ as a top-level domain`}
            </button>
          ) : (
            'Adding an entry needs the right tlds:create.'
          )}
          {error === undefined ? null : <Problem error={error} />}
        </span>
      )}
    </li>
  );
}

/** Returns the ASCII form of a name, or the name itself if it has none. */
function asciiOf(name: string): string {
  const [, labels = '', end = ''] = /^(.*?)(\.?)$/s.exec(name) ?? [];
  return asciiForm(labels) + end;
}
