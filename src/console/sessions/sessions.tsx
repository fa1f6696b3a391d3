import { useState } from 'preact/hooks';
import { Confirm } from '../parts/dialog.tsx';
import { PageHead, useTitle } from '../parts/page.tsx';
import { List, type Column } from '../parts/table.tsx';
import { Ago, Name, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { request } from '../requests.ts';
import type { ConsoleSession } from '../resources.ts';
import { pageOf } from '../router.ts';
import { useRows } from '../rows.ts';
import { may, session, signOut } from '../session.ts';

const BROWSERS = [
  ['Firefox', /Firefox\/(\d+)/],
  ['Edge', /Edg\/(\d+)/],
  ['Chromium', /HeadlessChrome\/(\d+)/],
  ['Chrome', /Chrome\/(\d+)/],
  ['Safari', /Version\/(\d+).*Safari\//],
] as const;
const SYSTEMS = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux|X11/],
] as const;

/** Returns the browser of a session in a few words. */
function browserOf(agent: string | null): string {
  if (agent === null) return 'unknown';
  const browser = BROWSERS.find(([, each]) => each.test(agent));
  if (browser === undefined) return visible(agent);
  const [name, pattern] = browser;
  const [system] = SYSTEMS.find(([, each]) => each.test(agent)) ?? [];
  return `${name} ${pattern.exec(agent)?.[1] ?? ''}${system === undefined ? '' : ` on ${system}`}`;
}

const KINDS: Readonly<Record<ConsoleSession['kind'], string>> = {
  token: 'token',
  configured: 'adminToken',
  keystone: 'user of Keystone',
};

function columnsOf(onEnd: (row: ConsoleSession) => void): readonly Column<ConsoleSession>[] {
  return [
    {
      label: 'Who',
      width: 26,
      cell: ({ kind, credential_id: id, name, current }) => (
        <span class="cell">
          {kind === 'token' && may('tokens:get') ? (
            <a class="main-link" href={pageOf('tokens', id)}>
              <Name text={name} />
            </a>
          ) : (
            <Name text={name} />
          )}{' '}
          <span class="muted">{KINDS[kind]}</span>
          {current ? <b> · this session</b> : null}
        </span>
      ),
    },
    {
      label: 'Browser',
      width: 20,
      cell: ({ agent }) => (
        <span class="cell" title={agent === null ? undefined : visible(agent)}>
          {browserOf(agent)}
        </span>
      ),
    },
    {
      label: 'Address',
      width: 18,
      cell: ({ address }) => <bdi class="mono cell">{visible(address ?? '–')}</bdi>,
    },
    { label: 'Last use', width: 11, cell: ({ seen_at: at }) => <Ago at={at} /> },
    { label: 'Ends', width: 11, cell: ({ expires_at: at }) => <Ago at={at} /> },
    {
      label: 'Action',
      width: 14,
      cell: (row) =>
        mayEnd(row) ? (
          <button type="button" class="button text" onClick={() => onEnd(row)}>
            {row.current ? 'Sign out' : 'End'}
            <span class="hidden"> the session of {visible(row.name)}</span>
          </button>
        ) : null,
    },
  ];
}

/** Returns whether the person may end a session: its own, or any with the right. */
function mayEnd({ credential_id: id }: ConsoleSession): boolean {
  return id === session.value?.caller.id || may('tokens:delete');
}

/** The sessions of the console: one's own, or those of everybody for administrators. */
export function Sessions() {
  useTitle('Sessions');
  const list = useRows<ConsoleSession>('sessions', 'v2/sessions', { hasLimit: false });
  const [ending, setEnding] = useState<ConsoleSession>();
  const isAll = may('tokens:list');
  const columns = columnsOf((row) => (row.current ? void signOut() : setEnding(row)));
  return (
    <>
      <PageHead title="Sessions" />
      <p class="muted">
        {isAll
          ? 'Everybody who is signed in to this console, the newest first.'
          : 'Where you are signed in to this console, the newest first.'}{' '}
        A session ends with its token, at sign-out, or without input.
      </p>
      <List label="Sessions" list={list} words={['session', 'sessions']} columns={columns} />
      {ending === undefined ? null : (
        <Confirm
          title={
            <>
              End the session of <Name text={ending.name} />?
            </>
          }
          action="End session"
          keep="Keep"
          run={async () => {
            await request(`v2/sessions/${ending.id}`, { method: 'DELETE' });
            setEnding(undefined);
            showToast('Session ended');
          }}
          onClose={() => setEnding(undefined)}
        >
          <p>
            Its browser is signed out at its next request. The token or the password works again for
            a new session: delete the token to keep its user out.
          </p>
        </Confirm>
      )}
    </>
  );
}
