import { useLive } from '../live.ts';
import { Facts } from '../parts/facts.tsx';
import { deleting } from '../parts/resource-forms.tsx';
import { ResourcePage } from '../parts/resource-page.tsx';
import { Ago, Reference, timeOf, visible } from '../parts/text.tsx';
import type { Token } from '../resources.ts';
import { pageOf } from '../router.ts';
import { session } from '../session.ts';

const SOON_MS = 14 * 86_400_000;

/** When a token expires, as a warning if that is soon. */
export function Expiry({ at }: { at: string | null }) {
  const isSoon = at !== null && timeOf(at) - Date.now() < SOON_MS;
  return (
    <span class={isSoon ? 'warn' : undefined}>
      {isSoon ? '! ' : ''}
      <Ago at={at} none="never" />
    </span>
  );
}

/** A token: what it may do, for how long, and who created it. */
export function TokenPage({ id }: { id: string }) {
  const live = useLive<Token>(`v2/tokens/${id}`);
  const isOwn = session.value?.caller.id === id;
  return (
    <ResourcePage
      collection="tokens"
      live={live}
      acts={(token) => [
        {
          label: 'What it did',
          right: 'audit:list',
          href: `${pageOf('audit')}?actor_id=${id}`,
        },
        deleting('tokens', token, {
          isTyped: token.roles.includes('admin'),
          text: (
            <p>
              Requests with it are refused from then on, and its sessions of this console end
              {isOwn ? ': you are signed in with it' : ''}. This cannot be undone.
            </p>
          ),
        }),
      ]}
    >
      {(token) => (
        <>
          <Facts
            collection="tokens"
            resource={token}
            rows={[
              ['Expires', <Expiry at={token.expires_at} />],
              ['Created by', <Creator by={token.created_by} />],
            ]}
            without={['expires_at', 'created_by']}
          />
          <p class="muted">
            {isOwn ? 'You are signed in with it. ' : ''}A token cannot be changed. Create another,
            give it to its user, and delete this one once its last use stands still.
          </p>
        </>
      )}
    </ResourcePage>
  );
}

/** Who created a token, from its `created_by`. */
function Creator({ by }: { by: string | null }) {
  const [, kind, id = ''] = /^(token|keystone):(.*)$/s.exec(by ?? '') ?? [];
  if (kind === 'token') return <Reference collection="tokens" id={id} />;
  return (
    <bdi>{kind === undefined ? 'the service, or adminToken' : visible(`${id} of Keystone`)}</bdi>
  );
}
