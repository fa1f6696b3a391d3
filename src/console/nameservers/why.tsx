import { useEffect, useState } from 'preact/hooks';
import { Problem } from '../parts/notices.tsx';
import { Ago, count, Names, sentence, visible } from '../parts/text.tsx';
import { asRequestError, get, type RequestError } from '../requests.ts';
import type { NameServer, Requirement } from '../resources.ts';
import { may, session } from '../session.ts';

const TITLES: Readonly<Record<string, string>> = {
  failed: 'Keys cannot be delivered',
  open: 'It accepts requests that are not signed',
  drifted: 'Another program changed its keys',
  prepared: 'Its file is complete, and not loaded yet',
  blocked: 'A change would remove most of its keys',
  held: 'Delivery is held',
  paused: 'Delivery is paused',
};

/** What a person can do about a state. */
export type ActName = 'pause' | 'continue' | 'release' | 'resume' | 'confirm';

/** Why a name server is not live: what was asked, what was answered, and what to do. */
export function Why(props: { server: NameServer; onAct(name: ActName): void }) {
  const { server, onAct } = props;
  const { state, error_code: code, error } = server;
  const title = TITLES[state] ?? (code === null ? undefined : 'The last attempt failed');
  if (title === undefined) return null;
  const fault = code === null ? undefined : session.value?.faults[code];
  const isBad = state === 'failed' || state === 'open' || TITLES[state] === undefined;
  return (
    <section class={`alert ${isBad ? 'bad' : 'warn'}`} aria-label="Why">
      <h2>
        {isBad ? '✕' : '!'} {title}
      </h2>
      <dl class="facts">
        {error === null ? null : (
          <>
            <dt>What was answered</dt>
            <dd>
              <bdi>{sentence(error)}</bdi>
            </dd>
          </>
        )}
        {fault === undefined ? null : (
          <>
            <dt>What it means</dt>
            <dd>{fault.reason}</dd>
            <dt>What to do</dt>
            <dd>{fault.remedy}</dd>
          </>
        )}
        {server.attempts === 0 ? null : (
          <>
            <dt>Attempts</dt>
            <dd>
              {server.attempts} failed
              {server.next_attempt_at === null ? null : (
                <>
                  , the next <Ago at={server.next_attempt_at} />
                </>
              )}
            </dd>
          </>
        )}
      </dl>
      {server.held === null ? null : <Held held={server.held} />}
      <Acts state={state} onAct={onAct} />
      {may('nameservers:check') && state !== 'paused' ? (
        <Checks key={`${state} ${String(code)}`} id={server.id} />
      ) : null}
    </section>
  );
}

const ACTS: Readonly<Record<string, readonly [ActName, string, right: string]>> = {
  held: ['resume', 'Resume delivery…', 'nameservers:resume'],
  blocked: ['confirm', 'Confirm the removal…', 'nameservers:update'],
  paused: ['continue', 'Continue delivery…', 'nameservers:update'],
};

function Acts({ state, onAct }: { state: string; onAct(name: ActName): void }) {
  const act = ACTS[state];
  if (act === undefined) return null;
  const [name, label, right] = act;
  if (!may(right))
    return (
      <p class="hint">
        This needs the right <code>{right}</code>.
      </p>
    );
  return (
    <div class="row">
      <button type="button" class="button" onClick={() => onAct(name)}>
        {label}
      </button>
    </div>
  );
}

/** What resumed delivery would change. */
export function Held({ held }: { held: NonNullable<NameServer['held']> }) {
  const parts = [
    ['added', held.added, held.added_keys, 'The name server lacks them.'],
    ['removed', held.removed, held.removed_keys, 'Only the name server has them.'],
    ['changed', held.changed, held.changed_keys, 'It has another secret, right or zone.'],
  ] as const;
  return (
    <ul class="stack-s">
      {parts.map(([word, number, names, text]) =>
        number === 0 ? null : (
          <li key={word}>
            <b>
              {count(number, 'key')} would be {word}.
            </b>{' '}
            {text} <Names names={names} of={number} />
          </li>
        ),
      )}
    </ul>
  );
}

/** What the service asks of the name server now, with the answers. It changes nothing. */
function Checks({ id }: { id: string }) {
  const [shown, setShown] = useState<readonly Requirement[]>();
  const [error, setError] = useState<RequestError>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const read = async () => {
      try {
        const options = { isBackground: turn === 0, signal: abort.signal };
        const path = `v2/nameservers/${id}/check`;
        setShown((await get<{ requirements: Requirement[] }>(path, options)).requirements);
        setError(undefined);
      } catch (failure) {
        if (!abort.signal.aborted) setError(asRequestError(failure));
      }
    };
    void read();
    return () => abort.abort();
  }, [id, turn]);
  const unmet = shown?.filter(({ ok }) => !ok) ?? [];
  return (
    <>
      {shown === undefined ? null : (
        <table class="wrap stacked" aria-label="What was asked now">
          <thead>
            <tr>
              <th scope="col">What was asked</th>
              <th scope="col">What was answered</th>
              <th scope="col">What to do</th>
            </tr>
          </thead>
          <tbody>
            {[...unmet, ...shown.filter(({ ok }) => ok)].map((each) => (
              <tr key={each.requirement}>
                <td>
                  <bdi>{visible(each.requirement)}</bdi>
                </td>
                <td>
                  <span class={each.ok ? 'ok' : 'bad'}>{each.ok ? '✓ Yes' : '✕ No'}</span>{' '}
                  {each.problem === null ? null : <bdi>{sentence(each.problem)}</bdi>}
                </td>
                <td>{each.hint === null ? null : <bdi>{sentence(each.hint)}</bdi>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {error === undefined ? null : <Problem error={error} />}
      <div class="row">
        <button type="button" class="button" onClick={() => setTurn((count) => count + 1)}>
          Check again
        </button>
        <span class="hint">A check changes nothing.</span>
      </div>
    </>
  );
}
