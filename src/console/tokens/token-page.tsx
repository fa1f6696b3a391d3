import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { FurtherFacts } from '../parts/fields.tsx';
import { History } from '../parts/history.tsx';
import { Denied, NotLive } from '../parts/notices.tsx';
import { PageHead, reading, useTitle } from '../parts/page.tsx';
import { Terms } from '../parts/terms.tsx';
import { Ago, count, Name, Reference, visible } from '../parts/text.tsx';
import type { Token } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import { may, session } from '../session.ts';
import { DeleteToken, useTokenSessions } from './delete-token.tsx';
import { Limits } from './limits.tsx';
import { Expiry } from './token-list.tsx';

/** A token: what it may do, for how long, and who created it. */
export function TokenPage({ id }: { id: string }) {
  const live = useLive<Token>(`v2/tokens/${id}`);
  const [isDeleting, setDeleting] = useState(false);
  const token = live.data;
  useTitle(token === undefined ? 'Token' : visible(token.name));
  const crumb = { label: 'Tokens', href: pageOf('tokens') };
  if (token === undefined) return reading({ title: 'Token', crumb, live, what: 'the token' });
  const isOwn = session.value?.caller.id === id;
  const roles = (
    <>
      <bdi>{visible(token.roles.join(', '))}</bdi>
      {isOwn ? <span class="muted"> · you are signed in with it</span> : null}
    </>
  );
  const none = <span class="muted">none, so it cannot create zones</span>;
  const { project_id: of } = token;
  const project = of === null ? none : <bdi class="mono">{visible(of)}</bdi>;
  const created = (
    <>
      <Ago at={token.created_at} /> <Creator by={token.created_by} />
    </>
  );
  return (
    <>
      <PageHead title={<Name text={token.name} isWhole />} crumb={crumb}>
        {may('audit:list') ? (
          <a class="button" href={`${pageOf('audit')}?actor_id=${id}`}>
            What it did
          </a>
        ) : null}
        {may('tokens:delete') ? (
          <button type="button" class="button" onClick={() => setDeleting(true)}>
            Delete…
          </button>
        ) : (
          <Denied right="tokens:delete" what="Deleting a token" />
        )}
      </PageHead>
      <div class="stack">
        <NotLive error={live.error} asOf={live.asOf} reload={live.reload} />
        <div class="columns">
          <section class="panel" aria-label="The token">
            <Terms
              rows={[
                ['Roles', roles],
                ['Project', project],
                ['Limits', <Limits token={token} none={UNLIMITED} />],
                ['Last used', <Ago at={token.last_used_at} none="never" />],
                ['Expires', <Expiry at={token.expires_at} />],
                ['Sessions', <Sessions id={id} />],
                ['Created', created],
              ]}
            >
              <FurtherFacts collection="tokens" resource={token} shown={SHOWN} />
            </Terms>
            <p class="muted small">
              A token cannot be changed. Create another, give it to its user, and delete this one
              once its last use stands still.
            </p>
          </section>
          <History collection="tokens" id={id} />
        </div>
      </div>
      {isDeleting ? (
        <DeleteToken
          token={token}
          onClose={() => setDeleting(false)}
          onDeleted={() => open(pageOf('tokens'))}
        />
      ) : null}
    </>
  );
}

const UNLIMITED = 'None: everything that its roles allow, from every address.';

const SHOWN = [
  ...(['id', 'name', 'roles', 'project_id', 'pools', 'zones', 'keys', 'nameservers'] as const),
  ...(['addresses', 'last_used_at', 'expires_at', 'created_at', 'created_by'] as const),
];

function Sessions({ id }: { id: string }) {
  const found = useTokenSessions([id]);
  if (found === undefined) return <span class="muted">…</span>;
  return found.length === 0 ? (
    <span class="muted">none in this console</span>
  ) : (
    <>{count(found.length, 'session')} of this console</>
  );
}

/** Who created a token, from its `created_by`. */
function Creator({ by }: { by: string | null }) {
  if (by === null) return null;
  const [kind] = by.split(':', 1);
  const id = by.slice(by.indexOf(':') + 1);
  if (kind === 'token')
    return (
      <span class="muted">
        with the token <Reference collection="tokens" id={id} />
      </span>
    );
  if (kind === 'keystone')
    return (
      <span class="muted">
        by the user <Name text={id} /> of Keystone
      </span>
    );
  return <span class="muted">by the service or with adminToken</span>;
}
