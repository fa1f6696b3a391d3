import { useLive } from '../live.ts';
import { ServerLines } from '../nameservers/keys-line.tsx';
import { atOnce } from '../parts/acts.tsx';
import { Button } from '../parts/button.tsx';
import { Records } from '../parts/history.tsx';
import { Lines } from '../parts/lines.tsx';
import { NotLive } from '../parts/notices.tsx';
import { PageHead, Reading } from '../parts/page.tsx';
import { count, relative, sentence, timeOf, visible } from '../parts/text.tsx';
import { send } from '../requests.ts';
import type { Status } from '../../status/response.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import { COPY_KEY, countUpTo, needsOf, stepsOf, type Need, type Step } from './needs.ts';

/** Says whether anything needs the person. */
export function Overview() {
  const live = useLive<Status>('v2/status', ({ nameservers }) =>
    (nameservers?.servers ?? []).some(({ state }) => state === 'pending'),
  );
  const { data: status } = live;
  const needs = status === undefined ? [] : needsOf(status);
  const steps = status === undefined ? [] : stepsOf(status);
  const tab = needs.length > 0 ? `(${needs.length}) Overview` : 'Overview';
  return (
    <>
      <PageHead title="Overview" tab={tab} />
      {status === undefined ? (
        <Reading live={live} what="the state of the service" />
      ) : (
        <div class="stack">
          <NotLive {...live} />
          {needs.length === 0 ? null : (
            <section class="panel" aria-label="Does anything need me?">
              <h2>Needs attention</h2>
              <Lines lines={needs.map((need) => ({ key: need.text, ...shown(need) }))} />
            </section>
          )}
          {steps.length === 0 ? null : <Checklist steps={steps} />}
          <section class="panel" aria-label="What is there">
            {needs.length + steps.length === 0 ? <Calm status={status} /> : null}
            <Totals status={status} />
          </section>
          <Servers {...status} />
          <Changes {...status} />
        </div>
      )}
    </>
  );
}

/** Returns a line with its next action: the page to open, or the command to run. */
function shown({ state, text, detail, href, run }: Need) {
  return {
    state,
    text: <bdi>{visible(text)}</bdi>,
    detail: (detail !== undefined || run !== undefined) && (
      <>
        {detail === undefined ? null : <bdi>{sentence(detail)} </bdi>}
        {run === undefined ? null : (
          <>
            Run <code>{run}</code>
          </>
        )}
      </>
    ),
    next: href !== undefined && (
      <a href={href}>
        Open<span class="hidden">: {visible(text)}</span>
      </a>
    ),
  };
}

function Checklist({ steps }: { steps: readonly Step[] }) {
  const done = steps.filter(({ isDone }) => isDone).length;
  const lineOf = ({ text, isDone, href, right }: Step) => {
    const isAllowed = right === undefined || may(right);
    const copied = (
      <Button
        look="text"
        onClick={() => void atOnce(() => send('v2/encryption/confirm-copy', 'POST'))}
      >
        It is copied
      </Button>
    );
    if (isDone) return { key: text, ...shown({ state: 'live', text: `${text}: done` }) };
    if (!isAllowed)
      return { key: text, ...shown({ state: 'paused', text, detail: `Needs the right ${right}` }) };
    const line = shown({ state: 'paused', text, ...(href === undefined ? {} : { href }) });
    return { key: text, ...line, ...(text === COPY_KEY ? { next: copied } : {}) };
  };
  return (
    <section class="panel" aria-labelledby="setup">
      <h2 id="setup">
        Set up{' '}
        <span class="muted">
          {done} of {steps.length}
        </span>
      </h2>
      <Lines lines={steps.map(lineOf)} />
    </section>
  );
}

function Calm({ status: { nameservers, tsigkeys } }: { status: Status }) {
  if (nameservers === null && tsigkeys === null)
    return <p class="muted">You may see neither keys nor name servers.</p>;
  const checks = (nameservers?.servers ?? []).flatMap(({ verified_at: at }) => at ?? []);
  if (checks.length === 0) return <p class="ok">✓ Nothing needs you.</p>;
  const last = relative(Math.max(...checks.map(timeOf)));
  return <p class="ok">✓ Everything is signed and verified. Last check {last}.</p>;
}

/** How much there is that the caller may see, with links to it. */
function Totals({ status }: { status: Status }) {
  const { nameservers, tsigkeys, zones, tlds } = status;
  const totals = [
    ['keys', tsigkeys && countUpTo(tsigkeys.total, 'key')],
    [
      'nameservers',
      nameservers && `${nameservers.live} of ${count(nameservers.total, 'name server')} live`,
    ],
    ['zones', zones && countUpTo(zones.total, 'zone')],
    ['tlds', tlds && countUpTo(tlds.total, 'top-level domain')],
  ] as const;
  return (
    <p class="totals">
      {totals.map(([page, text]) =>
        text === null ? null : (
          <a key={page} href={pageOf(page)}>
            {text}
          </a>
        ),
      )}
    </p>
  );
}

function Servers({ nameservers }: Status) {
  const servers = nameservers?.servers ?? [];
  if (servers.length === 0) return null;
  return (
    <section class="panel" aria-label="Name servers">
      <h2>Name servers</h2>
      <ServerLines servers={servers} />
    </section>
  );
}

function Changes({ changes }: Status) {
  if (changes === null) return null;
  return (
    <section class="panel" aria-label="Last changes">
      <h2>Last changes</h2>
      <Records records={changes} />
    </section>
  );
}
