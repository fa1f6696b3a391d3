import { useLive } from '../live.ts';
import { Terms } from '../parts/facts.tsx';
import { Grid } from '../parts/grid.tsx';
import { Reading } from '../parts/page.tsx';
import { Ago, count, Names, sentence, visible } from '../parts/text.tsx';
import { get } from '../requests.ts';
import type { NameServer, Requirement } from '../resources.ts';
import { may, session } from '../session.ts';
import { TROUBLES } from './troubles.ts';

/** What a name server answered, what that means, and what to do. */
export function Answer({ server }: { server: NameServer }) {
  const { error, error_code: code, attempts, next_attempt_at: next } = server;
  const fault = session.value?.faults[code ?? ''];
  return (
    <Terms
      rows={[
        ['What was answered', error === null ? null : <bdi>{sentence(error)}</bdi>],
        ['What it means', fault?.reason],
        ['What to do', fault?.remedy],
        ['Failed attempts', attempts === 0 ? null : attempts],
        ['Next attempt', next === null ? null : <Ago at={next} />],
      ]}
    />
  );
}

/** Why a name server is not live, and what the service asks of it now. */
export function Why({ server }: { server: NameServer }) {
  const { id, state, error_code: code, held } = server;
  const title = TROUBLES[state] ?? (code === null ? undefined : 'The last attempt failed');
  if (title === undefined) return null;
  const isBad = state === 'failed' || state === 'open' || TROUBLES[state] === undefined;
  return (
    <section class={`alert ${isBad ? 'bad' : 'warn'}`} aria-label="Why">
      <h2>
        {isBad ? '✕' : '!'} {title}
      </h2>
      <Answer server={server} />
      {held === null ? null : <Held held={held} />}
      {may('nameservers:check') && state !== 'paused' ? (
        <Checks key={`${state} ${String(code)}`} id={id} />
      ) : null}
    </section>
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

/** What the service asks of the name server, with the answers. It changes nothing. */
function Checks({ id }: { id: string }) {
  const live = useLive<readonly Requirement[]>(
    `v2/nameservers/${id}/check`,
    undefined,
    async (path, isBackground, signal) =>
      (await get<{ requirements: Requirement[] }>(path, { isBackground, signal })).requirements,
  );
  if (live.data === undefined) return <Reading live={live} what="what it answers" />;
  return (
    <Grid
      label="What was asked now"
      heads={['What was asked', 'What was answered', 'What to do']}
      rows={live.data
        .toSorted((one, other) => Number(one.ok) - Number(other.ok))
        .map(({ requirement, ok, problem, hint }) => [
          <bdi>{visible(requirement)}</bdi>,
          <>
            <span class={ok ? 'ok' : 'bad'}>{ok ? '✓ Yes' : '✕ No'}</span>{' '}
            {problem === null ? null : <bdi>{sentence(problem)}</bdi>}
          </>,
          hint === null ? null : <bdi>{sentence(hint)}</bdi>,
        ])}
    />
  );
}
