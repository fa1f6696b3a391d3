import { useState } from 'preact/hooks';
import { asciiForm } from '../../domain/tld-lists/list.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/notices.tsx';
import { State } from '../parts/states.tsx';
import { count, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { asRequestError, get, request, type RequestError } from '../requests.ts';
import { may } from '../session.ts';

interface Check {
  /** The name as it was typed. */
  readonly typed: string;
  /** The form in which it is checked and stored. */
  readonly name: string;
  readonly allowed: boolean;
  readonly rule: string | null;
  readonly message: string | null;
}

const MOST = 1000;
const SHOWN = 200;

/** Returns the ASCII form of a name, or the name itself if it has none. */
function asciiOf(name: string): string {
  const [, labels = '', end = ''] = /^(.*?)(\.?)$/s.exec(name) ?? [];
  return asciiForm(labels) + end;
}

/** Says which of the pasted names a new zone may have, and what to do about the others. */
export function NameCheck({ onClose }: { onClose(): void }) {
  const [text, setText] = useState('');
  const [checks, setChecks] = useState<readonly Check[]>();
  const [error, setError] = useState<RequestError>();
  const names = text.split(/[\s,;]+/).filter((name) => name !== '');
  const isTooMany = names.length > MOST;
  const act = async (work: () => Promise<void>) => {
    setError(undefined);
    await work().catch((failure: unknown) => setError(asRequestError(failure)));
  };
  const check = async (typed: readonly string[]) => {
    if (typed.length === 0 || typed.length > MOST) return;
    const found = await get<{ checks: Omit<Check, 'typed'>[] }>('v2/tlds/check', {
      method: 'POST',
      body: { names: typed.map(asciiOf) },
    });
    // In the order of the request.
    setChecks(found.checks.map((each, at) => ({ ...each, typed: typed[at] ?? each.name })));
  };
  const add = async (name: string) => {
    await request('v2/tlds', { method: 'POST', body: { name } });
    showToast(`Added ${visible(name)}`);
    await check(checks?.map(({ typed }) => typed) ?? []);
  };
  const allowed = checks?.filter((each) => each.allowed).length ?? 0;
  return (
    <Dialog title="Is this name allowed?" onClose={onClose}>
      <form
        class="dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          void act(() => check(names));
        }}
      >
        <div class="field">
          <label for="names-to-check">Names of zones</label>
          <textarea
            id="names-to-check"
            class="input mono"
            spellcheck={false}
            placeholder="shop.example.uk"
            aria-describedby="names-to-check-hint"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p class={isTooMany ? 'problem' : 'hint'} id="names-to-check-hint">
            {isTooMany
              ? `These are ${names.length.toLocaleString('en')} names. Check at most 1,000 at a time.`
              : 'Up to 1,000, separated by blanks or lines. Names in Unicode are checked and stored in their ASCII form.'}
          </p>
        </div>
        {error === undefined ? null : <Problem error={error} />}
        <div role="status">
          {checks === undefined ? null : (
            <p>
              {allowed === checks.length ? '' : `${allowed} of `}
              {count(checks.length, 'name')} allowed.
            </p>
          )}
        </div>
        <ul class="needs">
          {checks
            ?.toSorted((one, other) => Number(one.allowed) - Number(other.allowed))
            .slice(0, SHOWN)
            .map((each, index) => (
              <CheckLine
                key={`${index} ${each.typed}`}
                check={each}
                add={(name) => void act(() => add(name))}
              />
            ))}
        </ul>
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
            aria-disabled={names.length === 0 || isTooMany}
          >
            Check
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function CheckLine({ check, add }: { check: Check; add(tld: string): void }) {
  const { typed, name, allowed, rule, message } = check;
  const last = name.replace(/\.$/, '').split('.').at(-1) ?? '';
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
            <button type="button" class="button text" onClick={() => add(last)}>
              {`Add ‘${visible(last)}’ as a top-level domain`}
            </button>
          ) : (
            'Adding an entry needs the right tlds:create.'
          )}
        </span>
      )}
    </li>
  );
}
