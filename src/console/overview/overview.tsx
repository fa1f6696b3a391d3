import { useEffect } from 'preact/hooks';
import { useLive } from '../live.ts';
import { Failure, NotLive } from '../parts/notices.tsx';
import { PageHead } from '../parts/page.tsx';
import { State } from '../parts/states.tsx';
import { Skeleton } from '../parts/table.tsx';
import {
  Ago,
  Copy,
  count,
  Later,
  Name,
  Reference,
  relative,
  sentence,
  timeOf,
  visible,
} from '../parts/text.tsx';
import { get } from '../requests.ts';
import { isChange, verbOf } from '../parts/history.tsx';
import type {
  AuditRecord,
  KeyState,
  Lifecycle,
  NameServer,
  Status,
  Token,
  Waiting,
} from '../resources.ts';
import { pageOf } from '../router.ts';
import { may, session } from '../session.ts';
import { checklistOf, needsOf, type Facts, type KeyAges, type Need, type Step } from './needs.ts';

interface Shown extends Facts {
  /** How many tokens of administrators are valid, or undefined if the caller may not see them. */
  readonly administrators: number | undefined;
  readonly changes: readonly AuditRecord[];
}

const MAX_CHANGES = 3;
const MAX_RECORDS = 50;
const MAX_ROTATIONS = 20;
const MAX_SERVERS = 100;

/** Says whether anything needs the person. */
export function Overview() {
  const { data, error, asOf, reload } = useLive<Shown>(
    'v2/status',
    ({ servers }) => servers.some(({ state }) => state === 'pending'),
    readFacts,
  );
  const needs = data === undefined ? [] : needsOf(data);
  useEffect(() => {
    document.title = `${needs.length > 0 ? `(${needs.length}) ` : ''}Overview · Tsigil`;
  }, [needs.length]);
  if (data === undefined)
    return (
      <>
        <PageHead title="Overview" />
        {error === undefined ? (
          <Later>
            <div class="table">
              <table>
                <tbody>
                  <Skeleton columns={3} />
                </tbody>
              </table>
            </div>
          </Later>
        ) : (
          <Failure error={error} what="the state of the service" retry={reload} />
        )}
      </>
    );
  const steps = checklistOf(data, session.value?.caller.id ?? '', data.administrators);
  return (
    <>
      <PageHead title="Overview" />
      <div class="stack">
        <NotLive error={error} asOf={asOf} reload={reload} />
        <section class="panel" aria-label="Does anything need me?">
          {needs.length === 0 ? <Calm facts={data} /> : <Needs needs={needs} />}
          <Totals status={data.status} />
          <Changes records={data.changes} />
        </section>
        {steps.length === 0 ? null : <Checklist steps={steps} />}
        {data.status.nameservers === null ? null : <Servers servers={data.servers} />}
      </div>
    </>
  );
}

async function readFacts(path: string, isBackground: boolean, signal: AbortSignal): Promise<Shown> {
  const options = { isBackground, signal };
  const [status, servers, waiting, ages, administrators, changes] = await Promise.all([
    get<Status>(path, options),
    may('nameservers:list')
      ? get<{ nameservers: NameServer[] }>(
          `v2/nameservers?limit=${MAX_SERVERS}&sort_key=name`,
          options,
        ).then(({ nameservers }) => nameservers)
      : [],
    may('tsigkeys:list') && may('tsigkeys:get') ? readWaiting(options) : [],
    may('tsigkeys:list') ? readAges(options) : { isAll: true, states: [] },
    may('tokens:list') ? countAdministrators(options) : undefined,
    may('audit:list') ? readChanges(options) : [],
  ]);
  return { status, servers, waiting, ages, administrators, changes };
}

interface Options {
  readonly isBackground: boolean;
  readonly signal: AbortSignal;
}

/** Reads the age and the expiry of the oldest keys. */
async function readAges(options: Options): Promise<KeyAges> {
  const { tsigkeys, links } = await get<{ tsigkeys: { id: string }[]; links: { next?: string } }>(
    'v2/tsigkeys?sort_key=created_at&limit=100',
    options,
  );
  if (tsigkeys.length === 0) return { isAll: true, states: [] };
  const body = { ids: tsigkeys.map(({ id }) => id) };
  const { states } = await get<{ states: KeyState[] }>(
    'v2/tsigkeys/states',
    Object.assign({ method: 'POST', body }, options),
  );
  return { isAll: links.next === undefined, states };
}

async function countAdministrators(options: Options): Promise<number> {
  const { tokens } = await get<{ tokens: Token[] }>('v2/tokens?limit=1000', options);
  return tokens.filter(
    ({ roles, expires_at: at }) =>
      roles.some((role) => role.toLowerCase() === 'admin') &&
      (at === null || timeOf(at) > Date.now()),
  ).length;
}

/** Reads the last changes that people and programs made. */
async function readChanges(options: Options): Promise<readonly AuditRecord[]> {
  const { records } = await get<{ records: AuditRecord[] }>(
    `v2/audit?outcome=success&limit=${MAX_RECORDS}`,
    options,
  );
  return records.filter(isChange).slice(0, MAX_CHANGES);
}

function Changes({ records }: { records: readonly AuditRecord[] }) {
  if (records.length === 0) return null;
  return (
    <section class="stack-s" aria-label="Last changes">
      <div class="row between">
        <h3 class="label">Last changes</h3>
        <a class="small" href={pageOf('audit')}>
          All in audit
        </a>
      </div>
      <ol class="timeline">
        {records.map(({ seq, at, actor_name: actor, action, resource_name: name }) => (
          <li key={seq}>
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

/** Returns the rotations that wait. Keys that are being replaced are not the current ones. */
async function readWaiting(options: Options): Promise<readonly Waiting[]> {
  const { tsigkeys } = await get<{ tsigkeys: { id: string; name: string }[] }>(
    `v2/tsigkeys?current=false&limit=${MAX_ROTATIONS}`,
    options,
  );
  const found = await Promise.all(
    tsigkeys.map(async ({ id, name }) => {
      const { keys } = await get<Lifecycle>(`v2/tsigkeys/${id}/lifecycle`, options);
      const waiting = keys.find((key) => key.id === id)?.waiting ?? null;
      return waiting === null ? [] : [{ id, name, reason: waiting.reason, who: waiting.who }];
    }),
  );
  return found.flat();
}

function Needs({ needs }: { needs: readonly Need[] }) {
  return (
    <>
      <h2>Needs attention</h2>
      <ul class="needs">
        {needs.map(({ key, shape, look, text, detail, href, run }) => (
          <li class="need" key={key}>
            <span class={`shape ${look}`} aria-hidden="true">
              {shape}
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
                Run <code>{visible(run)}</code>
              </span>
            )}
            {href === undefined ? null : (
              <a href={href}>
                Open<span class="hidden">: {visible(text)}</span>
              </a>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function Calm({ facts: { status, servers } }: { facts: Shown }) {
  const checks = servers.flatMap(({ verified_at: at }) => (at === null ? [] : [timeOf(at)]));
  const hasKeys = (status.tsigkeys?.total ?? 0) > 0;
  const isVerified = hasKeys && servers.length > 0;
  return (
    <p class="calm">
      <span class="shape" aria-hidden="true">
        ✓
      </span>
      <span>
        {isVerified ? 'Everything is signed and verified.' : 'Nothing needs you.'}
        {checks.length === 0 ? null : ` Last check ${relative(Math.max(...checks))}.`}
      </span>
    </p>
  );
}

function Totals({ status }: { status: Status }) {
  const totals = [
    [status.tsigkeys?.total, 'key'],
    [status.nameservers?.total, 'name server'],
    [status.zones?.total, 'zone'],
    [status.tlds?.total, 'top-level domain'],
    [status.pools?.total, 'pool'],
  ] as const;
  return (
    <p class="totals muted">
      {totals.map(([number, word]) =>
        number === undefined ? null : <span key={word}>{count(number, word)}</span>,
      )}
    </p>
  );
}

function Checklist({ steps }: { steps: readonly Step[] }) {
  const done = steps.filter(({ isDone }) => isDone).length;
  return (
    <section class="panel" aria-labelledby="setup">
      <h2 id="setup">
        Set up{' '}
        <span class="muted">
          {done} of {steps.length}
        </span>
      </h2>
      <ul class="needs">
        {steps.map(({ text, isDone, href, right, run }) => (
          <li class="need" key={text}>
            <span class={`shape ${isDone ? 'ok' : 'off'}`} aria-hidden="true">
              {isDone ? '✓' : '–'}
            </span>
            <span class={isDone ? 'muted' : ''}>
              {text}
              <span class="hidden">{isDone ? ': done' : ': to do'}</span>
            </span>
            {isDone || run === undefined ? null : (
              <>
                <span class="detail">
                  On the host of the service, run <code>{run}</code>
                </span>
                <Copy text={() => run} what="the command" />
              </>
            )}
            {isDone || href === undefined ? null : right === undefined || may(right) ? (
              <a href={href}>
                Open<span class="hidden">: {text}</span>
              </a>
            ) : (
              <span class="detail">
                Needs the right <code>{right}</code>.
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Servers({ servers }: { servers: readonly NameServer[] }) {
  return (
    <section class="stack-s" aria-labelledby="servers">
      <h2 id="servers">Name servers</h2>
      <div class="table">
        {servers.length === 0 ? (
          <div class="empty">
            <p class="muted">
              No name servers yet. Without one, keys are stored, but delivered nowhere.
            </p>
            {may('nameservers:create') ? (
              <a class="button" href={pageOf('nameservers', 'new')}>
                Add a name server
              </a>
            ) : null}
          </div>
        ) : (
          <table class="two-line" aria-labelledby="servers">
            <colgroup>
              <col width="24%" />
              <col width="18%" />
              <col width="20%" />
              <col width="16%" />
              <col width="22%" />
            </colgroup>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">State</th>
                <th scope="col">Pool</th>
                <th scope="col">Keys</th>
                <th scope="col">Verified</th>
              </tr>
            </thead>
            <tbody>
              {servers.map((server) => (
                <tr key={server.id}>
                  <td>
                    <a class="main-link" href={pageOf('nameservers', server.id)}>
                      <Name text={server.name} />
                    </a>{' '}
                    <span class="muted">{server.driver}</span>
                  </td>
                  <td>
                    <State state={server.state} words={server.state} />
                  </td>
                  <td>
                    <Reference collection="pools" id={server.pool_id} />
                  </td>
                  <td>
                    {server.keys_live} of {server.keys_wanted} verified
                  </td>
                  <td class="muted">
                    <Ago at={server.verified_at} none="never" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </section>
  );
}
