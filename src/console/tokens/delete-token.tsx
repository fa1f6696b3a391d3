import { useLive } from '../live.ts';
import { ConfirmDeletion } from '../parts/dialog.tsx';
import { count, timeOf } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { get, request } from '../requests.ts';
import type { ConsoleSession, Token } from '../resources.ts';
import { session } from '../session.ts';

/** Returns the sessions of this console that tokens opened, or undefined while they are read. */
export function useTokenSessions(ids: readonly string[]): readonly ConsoleSession[] | undefined {
  const { data } = useLive<{ sessions: ConsoleSession[] }>('v2/sessions');
  return data?.sessions.filter(
    ({ kind, credential_id: of }) => kind === 'token' && ids.includes(of),
  );
}

function isAdmin({ roles }: Pick<Token, 'roles'>): boolean {
  return roles.some((role) => role.toLowerCase() === 'admin');
}

/** Returns whether no other token of an administrator is valid, or undefined while it is read. */
function useIsLast(token: Token): boolean | undefined {
  return useLive<boolean>(
    isAdmin(token) ? 'v2/tokens?limit=1000' : undefined,
    undefined,
    async (path, isBackground, signal) => {
      const { tokens, links } = await get<{ tokens: Token[]; links: { next?: string } }>(path, {
        isBackground,
        signal,
      });
      const isOther = (each: Token) =>
        each.id !== token.id &&
        isAdmin(each) &&
        (each.expires_at === null || timeOf(each.expires_at) > Date.now());
      return links.next === undefined && !tokens.some(isOther);
    },
  ).data;
}

interface DeleteProps {
  readonly token: Token;
  onClose(): void;
  onDeleted(): void;
}

/** Deletes a token, after it said what ends with it. */
export function DeleteToken({ token, onClose, onDeleted }: DeleteProps) {
  const sessions = useTokenSessions([token.id]) ?? [];
  const isLast = useIsLast(token) === true;
  const isOwn = session.value?.caller.id === token.id;
  return (
    <ConfirmDeletion
      name={token.name}
      action="Delete token"
      isTyped={isAdmin(token)}
      run={async () => {
        await request(`v2/tokens/${token.id}`, { method: 'DELETE' });
        showToast('Token deleted');
        onDeleted();
      }}
      onClose={onClose}
    >
      <p>{refusedRequests(sessions.length)}</p>
      {isOwn ? (
        <p class="alert warn">You are signed in with this token: your session ends.</p>
      ) : null}
      {isLast ? (
        <p class="alert warn">
          It is the last valid token of an administrator. The service keeps it, unless adminToken or
          Keystone gives administrators access. Create another first.
        </p>
      ) : null}
      <p class="muted">This cannot be undone.</p>
    </ConfirmDeletion>
  );
}

function refusedRequests(sessions: number): string {
  const ended =
    sessions === 0
      ? ''
      : `, and ${count(sessions, 'session')} of this console ${sessions === 1 ? 'ends' : 'end'}`;
  return `Requests with it are refused from then on${ended}.`;
}
