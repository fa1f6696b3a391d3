import { useLive } from '../live.ts';
import { NotLive } from '../parts/notices.tsx';
import { PageHead, reading, useTitle } from '../parts/page.tsx';
import { Ago, count, Name, Reference, visible } from '../parts/text.tsx';
import type { Access } from '../resources.ts';
import { pageOf, query } from '../router.ts';
import { Limits } from './limits.tsx';
import { Expiry } from './token-list.tsx';

/** Why a caller can read secrets, by the right that lets it. */
const REASONS: Readonly<Record<string, string>> = {
  'tsigkeys:reveal': 'can see secrets',
  'nameservers:desired': 'can read the keys of name servers, as agents do',
  'tokens:create': 'can create a token that sees them',
};

function reasons(rights: readonly string[]): string {
  return rights.map((right) => REASONS[right] ?? visible(right)).join(', and ');
}

/** Who can read the secrets of all keys, or of the key in the address. */
export function AccessPage() {
  const key = query.value.get('key');
  const path = key === null ? 'v2/access' : `v2/tsigkeys/${encodeURIComponent(key)}/access`;
  const live = useLive<Access>(path);
  useTitle('Who can read secrets');
  const title = key === null ? 'Who can read secrets' : 'Who can read the secret';
  const crumb = { label: 'Tokens', href: pageOf('tokens') };
  if (live.data === undefined) return reading({ title, crumb, live, what: 'who can read secrets' });
  const { tokens, roles } = live.data;
  return (
    <>
      <PageHead title={title} crumb={crumb} />
      <div class="stack">
        <NotLive error={live.error} asOf={live.asOf} reload={live.reload} />
        {key === null ? null : (
          <p>
            Of the key <Reference collection="tsigkeys" id={key} />.{' '}
            <a href={pageOf('tokens', 'access')}>Show who can read any secret</a>
          </p>
        )}
        <section class="panel" aria-label="Tokens">
          <h2>{tokens.length === 0 ? 'No token can' : `${count(tokens.length, 'token')} can`}</h2>
          <ul class="needs">
            {tokens.map((token) => (
              <li class="need-group stack-s" key={token.id}>
                <p>
                  <a href={pageOf('tokens', token.id)}>
                    <Name text={token.name} />
                  </a>{' '}
                  <span class="muted">{visible(token.roles.join(', '))}</span>{' '}
                  {reasons(token.rights)}
                </p>
                <div class="small">
                  <Limits token={token} none="Every key, from every address." />
                </div>
                <p class="small muted row">
                  <span>
                    Last used <Ago at={token.last_used_at} none="never" />
                  </span>
                  <span>
                    Expires <Expiry at={token.expires_at} />
                  </span>
                </p>
              </li>
            ))}
          </ul>
        </section>
        <section class="panel" aria-label="Users of Keystone and adminToken">
          <h2>Users of Keystone, if the service uses it</h2>
          <ul class="stack-s">
            {roles.map(({ role, rights }) => (
              <li key={role}>
                Everybody with the role <b>{visible(role)}</b>
                {role === 'admin' ? ', and adminToken if it is set' : ''}: {reasons(rights)}.
              </li>
            ))}
          </ul>
        </section>
        <p class="muted small">
          Whoever can read the files of a name server, or the database and its master key, can read
          its secrets too.
        </p>
      </div>
    </>
  );
}
