import { useEffect, useState } from 'preact/hooks';
import { mapConcurrently } from '../../domain/scheduling/concurrency.ts';
import { DeleteSeveral, type DeletionProps } from '../parts/delete-several.tsx';
import { ConfirmDeletion } from '../parts/dialog.tsx';
import { Problem } from '../parts/notices.tsx';
import { Names } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { asRequestError, AT_ONCE, get, type RequestError } from '../requests.ts';
import type { Deliveries, Key, Uses } from '../resources.ts';
import { useForcedDeletion } from '../parts/forced-deletion.ts';

interface DeleteProps {
  readonly keyData: Key;
  onClose(): void;
  onDeleted(): void;
}

/** Deletes a key, after it said what stops working. */
export function DeleteKey({ keyData, onClose, onDeleted }: DeleteProps) {
  const users = useUsers([keyData]);
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
      <Consequences {...users} they="It is" them="it" />
    </ConfirmDeletion>
  );
}

/** Deletes the chosen keys, after it said what stops working. */
export function DeleteKeys({ keys, ...props }: DeletionProps & { keys: readonly Key[] }) {
  const users = useUsers(keys);
  return (
    <DeleteSeveral {...props} collection="tsigkeys" words={['key', 'keys']} rows={keys}>
      <Consequences {...users} they="They are" them="them" />
    </DeleteSeveral>
  );
}

/** Who needs some keys: undefined while it is read, and if it could not be read. */
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

function useUsers(keys: readonly Key[]): Users {
  const [found, setFound] = useState<Found>();
  const [error, setError] = useState<RequestError>();
  useEffect(() => {
    const abort = new AbortController();
    readAll(keys, abort.signal).then(setFound, (failure: unknown) => {
      if (!abort.signal.aborted) setError(asRequestError(failure));
    });
    return () => abort.abort();
  }, []);
  return { found, error };
}

/** Says what stops working without a key, or without several. */
function Consequences({ found, error, they, them }: Users & { they: string; them: string }) {
  if (error !== undefined)
    return (
      <>
        <p>Which name servers and clients need {them} could not be read:</p>
        <Problem error={error} />
      </>
    );
  if (found === undefined)
    return <p class="muted">Reading which name servers and clients need {them}…</p>;
  const servers = [...found.servers].sort();
  const clients = [...found.clients];
  const unknown = [...found.unknown].sort();
  if (servers.length === 0)
    return (
      <p>
        {they} on no name server. Deleting {them} cannot be undone.
      </p>
    );
  return (
    <>
      <p>
        These name servers lose {them} within seconds: <Names names={servers} of={servers.length} />
        .
      </p>
      <p>
        {clients.length === 0
          ? `Their logs show no client that uses ${them}.`
          : `These clients are refused from then on: ${clients.join(', ')}.`}
        {unknown.length === 0
          ? null
          : ` The logs of ${unknown.join(', ')} do not show every use, so there may be others.`}
      </p>
      <p class="muted">
        To replace {them} without an outage, rotate {them} instead.
      </p>
    </>
  );
}

/** Reads where keys are and who uses them, some keys at a time. */
async function readAll(keys: readonly Key[], signal: AbortSignal): Promise<Found> {
  const found: Found = { servers: new Set(), clients: new Set(), unknown: new Set() };
  await mapConcurrently(keys, AT_ONCE, async ({ id }) => {
    const { servers } = await get<Deliveries>(`v2/tsigkeys/${id}/deliveries`, { signal });
    for (const server of servers) found.servers.add(server.name_server);
    const uses = await get<Uses>(`v2/tsigkeys/${id}/uses`, { signal });
    for (const { name_server: name, state, uses: seen } of uses.servers) {
      if (state === 'unknown') found.unknown.add(name);
      for (const { address } of seen) found.clients.add(address);
    }
  });
  return found;
}
