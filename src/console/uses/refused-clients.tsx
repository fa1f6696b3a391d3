import type { ShownUses } from '../../uses/key-uses.ts';
import { useLive } from '../live.ts';

/** Reads which clients stop working without a key, and says so. */
export function useRefusedClients(base: string) {
  const live = useLive<ShownUses>(`${base}/uses`);
  return { live, text: live.data && <RefusedClients {...live.data} /> };
}

function RefusedClients({ servers }: ShownUses) {
  const clients = [...new Set(servers.flatMap(({ uses }) => uses.map(({ address }) => address)))];
  const unknown = servers.filter(({ state }) => state === 'unknown');
  return (
    <p>
      {clients.length === 0
        ? 'Their logs show no client that uses it.'
        : `These clients are refused from then on: ${clients.join(', ')}.`}
      {unknown.length === 0
        ? null
        : ` The logs of ${unknown.map(({ name_server: name }) => name).join(', ')} do not show every use, so there may be others.`}
    </p>
  );
}
