import { useEffect, useState } from 'preact/hooks';
import { ConfirmDeletion } from '../parts/dialog.tsx';
import { Problem } from '../parts/notices.tsx';
import { Names } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { asRequestError, get, type RequestError } from '../requests.ts';
import type { Deliveries, Key, Uses } from '../resources.ts';
import { useForcedDeletion } from '../parts/forced-deletion.ts';

interface DeleteProps {
  readonly keyData: Key;
  onClose(): void;
  onDeleted(): void;
}

/** Deletes a key, after it said what stops working. */
export function DeleteKey({ keyData, onClose, onDeleted }: DeleteProps) {
  const users = useUsers(keyData.id);
  const { isReferenced, remove } = useForcedDeletion(`v2/tsigkeys/${keyData.id}`);
  return (
    <ConfirmDeletion
      name={keyData.name}
      action={isReferenced ? 'Delete nevertheless' : 'Delete key'}
      isTyped={users.found?.servers.size !== 0}
      run={async () => {
        await remove();
        showToast('Key deleted');
        onDeleted();
      }}
      onClose={onClose}
    >
      <Consequences {...users} />
    </ConfirmDeletion>
  );
}

/** Who needs a key: undefined while it is read, and if it could not be read. */
interface Users {
  readonly found: Found | undefined;
  readonly error: RequestError | undefined;
}

interface Found {
  readonly servers: Set<string>;
  readonly clients: Set<string>;
  /** The name servers whose logs do not show every use. */
  readonly unknown: Set<string>;
}

function useUsers(id: string): Users {
  const [found, setFound] = useState<Found>();
  const [error, setError] = useState<RequestError>();
  useEffect(() => {
    const abort = new AbortController();
    readUsers(id, abort.signal).then(setFound, (failure: unknown) => {
      if (!abort.signal.aborted) setError(asRequestError(failure));
    });
    return () => abort.abort();
  }, []);
  return { found, error };
}

/** Says what stops working without a key. */
function Consequences({ found, error }: Users) {
  if (error !== undefined)
    return (
      <>
        <p>Which name servers and clients need it could not be read:</p>
        <Problem error={error} />
      </>
    );
  if (found === undefined)
    return <p class="muted">Reading which name servers and clients need it…</p>;
  const servers = [...found.servers].sort();
  const clients = [...found.clients];
  const unknown = [...found.unknown].sort();
  if (servers.length === 0) return <p>It is on no name server. Deleting it cannot be undone.</p>;
  return (
    <>
      <p>
        These name servers lose it within seconds: <Names names={servers} of={servers.length} />.
      </p>
      <p>
        {clients.length === 0
          ? `Their logs show no client that uses it.`
          : `These clients are refused from then on: ${clients.join(', ')}.`}
        {unknown.length === 0
          ? null
          : ` The logs of ${unknown.join(', ')} do not show every use, so there may be others.`}
      </p>
      <p class="muted">To replace it without an outage, rotate it instead.</p>
    </>
  );
}

/** Reads where a key is and who uses it. */
async function readUsers(id: string, signal: AbortSignal): Promise<Found> {
  const { servers } = await get<Deliveries>(`v2/tsigkeys/${id}/deliveries`, { signal });
  const uses = await get<Uses>(`v2/tsigkeys/${id}/uses`, { signal });
  return {
    servers: new Set(servers.map(({ name_server: name }) => name)),
    clients: new Set(uses.servers.flatMap((each) => each.uses.map(({ address }) => address))),
    unknown: new Set(
      uses.servers.filter(({ state }) => state === 'unknown').map(({ name_server: name }) => name),
    ),
  };
}
