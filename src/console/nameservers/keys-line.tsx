import { Lines } from '../parts/lines.tsx';
import { Ago, count, Link, sentence } from '../parts/text.tsx';
import type { NameServer } from '../resources.ts';

type Line = Pick<NameServer, 'keys_live' | 'keys_wanted' | 'verified_at' | 'error'>;

/** How many keys were verified and when, or why not all. */
export function KeysLine({ server }: { server: Line }) {
  const { keys_live: live, keys_wanted: wanted, verified_at: at, error } = server;
  if (error !== null)
    return (
      <bdi title={sentence(error)}>
        {wanted === 0 ? '' : `${live} of ${wanted}: `}
        {sentence(error)}
      </bdi>
    );
  if (wanted === 0) return <span class="muted">No key yet</span>;
  return (
    <>
      {live} of {count(wanted, 'key')} verified{' '}
      {at === null ? null : (
        <span class="muted">
          <Ago at={at} />
        </span>
      )}
    </>
  );
}

type Shown = Line & Pick<NameServer, 'id' | 'name' | 'state'>;

/** Name servers with their states, one a line. */
export function ServerLines({ servers }: { servers: readonly Shown[] }) {
  return (
    <Lines
      lines={servers.map((server) => ({
        key: server.id,
        state: server.state,
        text: (
          <>
            <Link page="nameservers" {...server} /> <span class="muted">{server.state}</span>
          </>
        ),
        detail: <KeysLine server={server} />,
      }))}
    />
  );
}
