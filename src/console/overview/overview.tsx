import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLive } from '../live.ts';
import { KeysLine } from '../nameservers/keys-line.tsx';
import { verbOf } from '../parts/history.tsx';
import { NotLive } from '../parts/notices.tsx';
import { PageHead, reading } from '../parts/page.tsx';
import { State } from '../parts/states.tsx';
import { Ago, count, Name, relative, sentence, timeOf, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { asRequestError, request } from '../requests.ts';
import type { Status } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import { COPY_KEY, needsOf, stepsOf, type Need, type Step } from './needs.ts';

const SHAPES = { bad: '✕', warn: '!', busy: '◷', ok: '✓', off: '–' } as const;

/** Says whether anything needs the person. */
export function Overview() {
  const live = useLive<Status>('v2/status', ({ nameservers }) =>
    (nameservers?.servers ?? []).some(({ state }) => state === 'pending'),
  );
  const { data: status, error, asOf, reload } = live;
  const needs = status === undefined ? [] : needsOf(status);
  useEffect(() => {
    document.title = `${needs.length > 0 ? `(${needs.length}) ` : ''}Overview · Tsigil`;
  }, [needs.length]);
  if (status === undefined)
    return reading({ title: 'Overview', live, what: 'the state of the service' });
  const steps = stepsOf(status);
  return (
    <>
      <PageHead title="Overview" />
      <div class="stack">
        <NotLive error={error} asOf={asOf} reload={reload} />
        {needs.length === 0 ? null : (
          <section class="panel" aria-label="Does anything need me?">
            <h2>Needs attention</h2>
            <ul class="needs">
              {needs.map((need) => (
                <Line key={need.text} {...need} />
              ))}
            </ul>
          </section>
        )}
        {steps.length > 0 ? <Checklist steps={steps} reload={reload} /> : null}
        {needs.length + steps.length === 0 ? <Calm status={status} /> : null}
        {status.nameservers === null ? null : <Servers servers={status.nameservers.servers} />}
        {status.changes === null ? null : <Changes changes={status.changes} />}
      </div>
    </>
  );
}

interface LineProps extends Omit<Need, 'look'> {
  readonly look: keyof typeof SHAPES;
  readonly children?: ComponentChildren;
}

/** A line with its next action: the page to open, or a button. */
function Line({ look, text, detail, href, run, children }: LineProps) {
  return (
    <li class="need">
      <span class={`shape ${look}`} aria-hidden="true">
        {SHAPES[look]}
      </span>
      <span>
        <bdi>{visible(text)}</bdi>
      </span>
      {detail === undefined ? null : (
        <span class="detail">
          <bdi>{sentence(detail)}</bdi>
        </span>
      )}
      {run === undefined ? null : (
        <span class="detail">
          Run <code>{run}</code>
        </span>
      )}
      {href === undefined ? null : (
        <a href={href}>
          Open<span class="hidden">: {visible(text)}</span>
        </a>
      )}
      {children}
    </li>
  );
}

function Calm({ status }: { status: Status }) {
  const { nameservers, tsigkeys, zones } = status;
  const checks = (nameservers?.servers ?? []).flatMap(({ verified_at: at }) => at ?? []);
  const totals = [
    [tsigkeys?.total, 'key'],
    [nameservers?.total, 'server'],
    [zones?.total, 'zone'],
  ] as const;
  const words = totals.flatMap(([number, word]) =>
    number === undefined ? [] : count(number, word),
  );
  return (
    <section class="panel" aria-label="Does anything need me?">
      <p class="calm">
        <span class="shape" aria-hidden="true">
          ✓
        </span>
        <span>
          {checks.length > 0 ? 'Everything is signed and verified.' : 'Nothing needs you.'}{' '}
          {words.length === 0 ? '' : `${words.join(', ')}. `}
          {checks.length === 0 ? '' : `Last check ${relative(Math.max(...checks.map(timeOf)))}.`}
        </span>
      </p>
    </section>
  );
}

function Checklist({ steps, reload }: { steps: readonly Step[]; reload(): void }) {
  const done = steps.filter(({ isDone }) => isDone).length;
  const confirm = async () => {
    try {
      await request('v2/encryption/confirm-copy', { method: 'POST' });
      reload();
    } catch (error) {
      showToast(asRequestError(error).message);
    }
  };
  return (
    <section class="panel" aria-labelledby="setup">
      <h2 id="setup">
        Set up{' '}
        <span class="muted">
          {done} of {steps.length}
        </span>
      </h2>
      <ul class="needs">
        {steps.map(({ text, isDone, href, right }) => {
          const isAllowed = right === undefined || may(right);
          const next = isDone || !isAllowed || href === undefined ? {} : { href };
          const lacks = isDone || isAllowed ? {} : { detail: `Needs the right ${right}` };
          return (
            <Line
              key={text}
              look={isDone ? 'ok' : 'off'}
              text={`${text}${isDone ? ': done' : ''}`}
              {...next}
              {...lacks}
            >
              {text === COPY_KEY && !isDone && isAllowed ? (
                <button type="button" class="button text" onClick={() => void confirm()}>
                  It is copied
                </button>
              ) : null}
            </Line>
          );
        })}
      </ul>
    </section>
  );
}

function Servers({ servers }: Pick<NonNullable<Status['nameservers']>, 'servers'>) {
  return (
    <section class="stack-s" aria-labelledby="servers">
      <h2 id="servers">Name servers</h2>
      {servers.length === 0 ? (
        <p class="muted">None yet. Without one, keys are stored here and delivered nowhere.</p>
      ) : (
        <div class="table">
          <table aria-labelledby="servers">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">State</th>
                <th scope="col">Keys</th>
              </tr>
            </thead>
            <tbody>
              {servers.map((server) => (
                <tr key={server.id}>
                  <td>
                    <a class="main-link" href={pageOf('nameservers', server.id)}>
                      <Name text={server.name} />
                    </a>
                  </td>
                  <td>
                    <State state={server.state} words={server.state} />
                  </td>
                  <td class="cell">
                    <KeysLine server={server} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Changes({ changes }: { changes: NonNullable<Status['changes']> }) {
  return (
    <section class="stack-s" aria-label="Last changes">
      <div class="row between">
        <h2>Last changes</h2>
        <a class="small" href={pageOf('audit')}>
          All in audit
        </a>
      </div>
      <ol class="timeline">
        {changes.map(({ at, actor_name: actor, action, resource_name: name }) => (
          <li key={`${at} ${action}`}>
            <span>
              <Name text={actor} /> {verbOf(action).replace(/ it$/, '')}{' '}
              {name === null ? null : <Name text={name} />}
            </span>
            <span class="muted">
              <Ago at={at} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
