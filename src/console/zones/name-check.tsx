import { useState } from 'preact/hooks';
import { asciiForm } from '../../tlds/list.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { TextField } from '../parts/inputs.tsx';
import { Lines } from '../parts/lines.tsx';
import { Problem } from '../parts/notices.tsx';
import { count, visible } from '../parts/text.tsx';
import { asRequestError, send, type RequestError } from '../requests.ts';
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
  const check = async (typed: readonly string[]) => {
    const body = { names: typed.map(asciiOf) };
    const found = await send<{ checks: Omit<Check, 'typed'>[] }>('v2/tlds/check', 'POST', body);
    // In the order of the request.
    setChecks(found.checks.map((each, at) => ({ ...each, typed: typed[at] ?? each.name })));
  };
  const act = (work: () => Promise<void>) => {
    setError(undefined);
    work().catch((failure: unknown) => setError(asRequestError(failure)));
  };
  const add = (name: string) =>
    act(async () => {
      await send('v2/tlds', 'POST', { name });
      await check(checks?.map(({ typed }) => typed) ?? []);
    });
  const allowed = checks?.filter((each) => each.allowed).length ?? 0;
  return (
    <Dialog title="Is this name allowed?" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          act(() => check(text.split(/[\s,;]+/).filter((name) => name !== '')));
        }}
      >
        <TextField
          label="Names of zones"
          hint="Up to 1,000, separated by blanks or lines. Names in Unicode are checked and stored in their ASCII form."
          placeholder="shop.example.uk"
          rows={5}
          value={text}
          set={setText}
        />
        {error === undefined ? null : <Problem error={error} />}
        <div role="status">
          {checks === undefined ? null : (
            <p>
              {allowed === checks.length ? '' : `${allowed} of `}
              {count(checks.length, 'name')} allowed.
            </p>
          )}
        </div>
        <Lines
          lines={(checks ?? [])
            .toSorted((one, other) => Number(one.allowed) - Number(other.allowed))
            .map((each, index) => ({
              key: `${index} ${each.typed}`,
              state: each.allowed ? 'accepted' : 'refused',
              text: <Verdict check={each} />,
              detail: each.message && <Remedy check={each} add={add} />,
            }))}
        />
        <div class="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <button type="submit" class="button primary" aria-disabled={text.trim() === ''}>
            Check
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Verdict({ check: { typed, name, allowed } }: { check: Check }) {
  return (
    <>
      <bdi class="mono">{visible(typed)}</bdi>
      {name === typed ? null : (
        <>
          <span class="muted">, in ASCII </span>
          <bdi class="mono">{visible(name)}</bdi>
        </>
      )}{' '}
      <span class="muted">{allowed ? 'allowed' : 'not allowed'}</span>
    </>
  );
}

function Remedy({ check: { name, rule, message }, add }: { check: Check; add(tld: string): void }) {
  const last = name.replace(/\.$/, '').split('.').at(-1) ?? '';
  return (
    <>
      <bdi>{visible(message ?? '')}</bdi>{' '}
      {rule === 'tld_entry' && may('tlds:create') ? (
        <Button look="text" onClick={() => add(last)}>
          {`Add ‘${visible(last)}’ as a top-level domain`}
        </Button>
      ) : null}
    </>
  );
}
