import { useLive } from '../live.ts';
import { Reading } from '../parts/page.tsx';
import { Names } from '../parts/text.tsx';
import type { Deliveries } from '../resources.ts';
import { lostClients, useUses } from './clients.tsx';

/** Says what stops working without a key. */
export function Consequences({ base }: { base: string }) {
  const places = useLive<Deliveries>(`${base}/deliveries`);
  const uses = useUses(base);
  const failed = places.error === undefined ? uses : places;
  if (places.data === undefined || uses.data === undefined)
    return <Reading live={failed} what="which name servers and clients need it" />;
  const servers = places.data.servers.map(({ name_server: name }) => name);
  if (servers.length === 0) return <p>It is on no name server. Deleting it cannot be undone.</p>;
  return (
    <>
      <p>
        These name servers lose it within seconds: <Names names={servers} of={servers.length} />.
      </p>
      <p>{lostClients(uses.data)}</p>
      <p class="muted">To replace it without an outage, rotate it instead.</p>
    </>
  );
}
