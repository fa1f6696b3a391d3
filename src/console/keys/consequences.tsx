import { useLive } from '../live.ts';
import { Reading } from '../parts/page.tsx';
import { Names } from '../parts/text.tsx';
import type { Deliveries, Uses } from '../resources.ts';

/** Says what stops working without a key. */
export function Consequences({ base }: { base: string }) {
  const places = useLive<Deliveries>(`${base}/deliveries`);
  const uses = useLive<Uses>(`${base}/uses`);
  const failed = places.error === undefined ? uses : places;
  if (places.data === undefined || uses.data === undefined)
    return <Reading live={failed} what="which name servers and clients need it" />;
  const servers = places.data.servers.map(({ name_server: name }) => name);
  const of = uses.data.servers;
  const clients = [...new Set(of.flatMap((each) => each.uses.map(({ address }) => address)))];
  const unknown = of.filter(({ state }) => state === 'unknown');
  if (servers.length === 0) return <p>It is on no name server. Deleting it cannot be undone.</p>;
  return (
    <>
      <p>
        These name servers lose it within seconds: <Names names={servers} of={servers.length} />.
      </p>
      <p>
        {clients.length === 0
          ? 'Their logs show no client that uses it.'
          : `These clients are refused from then on: ${clients.join(', ')}.`}
        {unknown.length === 0
          ? null
          : ` The logs of ${unknown.map(({ name_server: name }) => name).join(', ')} do not show every use, so there may be others.`}
      </p>
      <p class="muted">To replace it without an outage, rotate it instead.</p>
    </>
  );
}
