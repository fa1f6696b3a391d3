import { useLive } from '../live.ts';
import { Facts } from '../parts/facts.tsx';
import { ResourcePage } from '../parts/resource-page.tsx';
import { State } from '../parts/states.tsx';
import { Ago, visible } from '../parts/text.tsx';
import type { NameServer } from '../resources.ts';
import { logRow } from '../uses/log-row.ts';
import { actsOf } from './acts.tsx';
import { KeysLine } from './keys-line.tsx';
import { KeysThere } from './server-keys.tsx';
import { titleOf } from '../brands.ts';
import { Why } from './why.tsx';

/** A name server: its state and why, what it should have and what it has, and what to do. */
export function ServerPage({ id }: { id: string }) {
  const live = useLive<NameServer>(`v2/nameservers/${id}`, () => true);
  return (
    <ResourcePage
      collection="nameservers"
      live={live}
      acts={actsOf}
      parts={(server) => <KeysThere server={server} />}
    >
      {(server) => (
        <>
          <Why server={server} />
          <ServerFacts server={server} />
        </>
      )}
    </ResourcePage>
  );
}

function ServerFacts({ server }: { server: NameServer }) {
  const { state, driver, verified_at: verified, pending_since: since } = server;
  const lines = (server.key_references ?? [])
    .map(({ key, place }) => `${key} (${place})`)
    .join(', ');
  const clock = verified === null ? 'Not known yet' : 'Within the 300 s of TSIG';
  return (
    <Facts
      collection="nameservers"
      resource={server}
      rows={[
        ['State', <State state={state} />],
        ['Keys', <KeysLine server={{ ...server, error: null }} />],
        ['Waits since', since === null ? null : <Ago at={since} />],
        [
          'Clock',
          server.error_code === 'clock_skew' ? '✕ Differs by more than TSIG allows' : clock,
        ],
        ['Program', titleOf(driver)],
        logRow(server),
        ['Lines that need a key', lines === '' ? null : visible(lines)],
      ]}
      without={SHOWN}
    />
  );
}

/** The fields that the page shows in words. */
const SHOWN = [
  ...(['state', 'driver', 'keys_live', 'keys_wanted', 'verified_at', 'pending_since'] as const),
  ...(['attempts', 'next_attempt_at', 'held', 'key_references'] as const),
  ...(['evidence', 'error_code', 'error', 'paused'] as const),
];
