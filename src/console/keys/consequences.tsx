import type { ComponentChildren } from 'preact';
import { useLive, type Live } from '../live.ts';
import { Reading } from '../parts/page.tsx';
import { Names } from '../parts/text.tsx';
import type { Deliveries } from '../resources.ts';
import { useRefusedClients } from '../uses/refused-clients.tsx';

/** Who else needs a key, and what reads and says it. `text` is there once `live` has data. */
const OTHERS: readonly (readonly [
  who: string,
  use: (base: string) => { readonly live: Live<unknown>; readonly text: ComponentChildren },
])[] = [['clients', useRefusedClients]];

/** Says what stops working without a key. */
export function Consequences({ base }: { base: string }) {
  const places = useLive<Deliveries>(`${base}/deliveries`);
  const others = OTHERS.map(([, use]) => use(base)); // always the same, in the same order
  const unread = [places, ...others.map(({ live }) => live)].filter(
    ({ data }) => data === undefined,
  );
  if (places.data === undefined || unread.length > 0) {
    const live = unread.find(({ error }) => error !== undefined) ?? places;
    const who = ['name servers', ...OTHERS.map(([name]) => name)].join(' and ');
    return <Reading live={live} what={`which ${who} need it`} />;
  }
  const servers = places.data.servers.map(({ name_server: name }) => name);
  if (servers.length === 0) return <p>It is on no name server. Deleting it cannot be undone.</p>;
  return (
    <>
      <p>
        These name servers lose it within seconds: <Names names={servers} of={servers.length} />.
      </p>
      {others.map(({ text }) => text)}
      <p class="muted">To replace it without an outage, rotate it instead.</p>
    </>
  );
}
