import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { Confirm } from '../parts/dialog.tsx';
import { useForcedDeletion } from '../parts/forced-deletion.ts';
import { Section } from '../parts/page.tsx';
import { State } from '../parts/states.tsx';
import { Ago, count, Links, Name, sentence } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { get } from '../requests.ts';
import type { Deliveries, KeyState, NameServer, OpeningKeys, Removing } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';

interface Waits {
  readonly id: string | undefined;
  readonly name: string;
  readonly state: string;
  readonly error: string | undefined;
}

const MAX_SHOWN = 10;

/** The keys that a name server does not have yet, or still has, and when Tsigil tries again. */
export function Waiting({ server }: { server: NameServer }) {
  const { keys_wanted: wanted, keys_live: there, pending_since: since, attempts } = server;
  const isWaiting = since !== null || there < wanted || attempts > 0;
  const live = useLive<readonly Waits[]>(
    isWaiting ? `v2/nameservers/${server.id}/tsigkeys` : undefined,
    () => true,
    (path, isBackground, signal) => readWaits(path, server.name, { isBackground, signal }),
  );
  if (!isWaiting)
    return (
      <section class="panel" aria-label="What waits">
        <h2>What waits</h2>
        <p class="muted">Nothing. Every change is delivered.</p>
      </section>
    );
  return (
    <Section title="What waits" live={live}>
      {(waits) => (
        <>
          <p>
            {since === null ? (
              `${count(Math.max(0, wanted - there), 'key')} not verified.`
            ) : (
              <>
                The oldest change waits since <Ago at={since} />.
              </>
            )}{' '}
            {attempts === 0 ? null : (
              <>
                Attempt {attempts} failed, the next <Ago at={server.next_attempt_at} none="soon" />.
              </>
            )}
          </p>
          <ul class="needs">
            {waits.map(({ id, name, state, error }) => (
              <li class="need" key={`${String(id)} ${name}`}>
                <State state={state} words=" " />
                <span>
                  {id === undefined ? (
                    <Name text={name} />
                  ) : (
                    <a href={pageOf('keys', id)}>
                      <Name text={name} />
                    </a>
                  )}{' '}
                  <span class="muted">{state}</span>
                </span>
                {error === undefined ? null : (
                  <span class="detail">
                    <bdi>{sentence(error)}</bdi>
                  </span>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </Section>
  );
}

/** Returns the first keys that are not delivered to the server, and those that are to be removed. */
async function readWaits(
  path: string,
  server: string,
  options: { isBackground: boolean; signal: AbortSignal },
): Promise<readonly Waits[]> {
  const [{ keys }, { deliveries }] = await Promise.all([
    get<OpeningKeys>(path, options),
    get<Removing>('v2/deliveries?state=removing', options),
  ]);
  const ids = keys.map(({ id }) => id);
  const states =
    ids.length === 0
      ? []
      : (
          await get<{ states: KeyState[] }>(
            'v2/tsigkeys/states',
            Object.assign({ method: 'POST', body: { ids } }, options),
          )
        ).states;
  const late = states.filter(({ state }) => state !== 'delivered').slice(0, MAX_SHOWN);
  const places = await Promise.all(
    late.map(async ({ id }): Promise<Waits[]> => {
      const { servers } = await get<Deliveries>(`v2/tsigkeys/${id}/deliveries`, options);
      const name = keys.find((key) => key.id === id)?.name ?? id;
      return servers
        .filter(({ name_server: its, state }) => its === server && state !== 'delivered')
        .map(({ state, error }) => ({ id, name, state, error: error?.message }));
    }),
  );
  const removing = deliveries
    .filter(({ name_server: its }) => its === server)
    .slice(0, MAX_SHOWN)
    .map(({ key_name: name, error }) => ({
      id: undefined,
      name,
      state: 'removing',
      error: error?.message,
    }));
  return [...places.flat(), ...removing];
}

function openedBy({ opens }: OpeningKeys['keys'][number]): string {
  if (opens.length === 0) return 'opens nothing';
  return opens
    .map(
      ({ rights, zones }) =>
        `${rights.join(' and ')} ${zones === 'all' ? '' : `of ${count(zones, 'zone')}`}`,
    )
    .join(', ');
}

/** The keys that a name server should have, with what they open on it. */
export function KeysThere({ server }: { server: NameServer }) {
  const isAllowed = may('tsigkeys:list');
  const live = useLive<OpeningKeys>(isAllowed ? `v2/nameservers/${server.id}/tsigkeys` : undefined);
  if (!isAllowed) return null;
  return (
    <Section title="Keys" live={live}>
      {({ keys, more }) =>
        keys.length === 0 ? (
          <p class="muted">Its pool has no key yet.</p>
        ) : (
          <Links page="keys" rows={keys} more={more} note={openedBy} />
        )
      }
    </Section>
  );
}

/** What is on a name server beside the keys of Tsigil: unknown keys, and lines that name keys. */
export function Others({ server, reload }: { server: NameServer; reload(): void }) {
  const { unknown_keys: unknown, key_references: references, evidence } = server;
  const [removed, setRemoved] = useState<string>();
  return (
    <section class="panel" aria-label="What else is there">
      <h2>What else is there</h2>
      {unknown.length === 0 && (references ?? []).length === 0 ? (
        <p class="muted">
          {references === null
            ? 'Not known: its configuration cannot be read.'
            : 'No key that Tsigil does not know, and no line of its configuration that needs one.'}
        </p>
      ) : null}
      {unknown.length === 0 ? null : (
        <>
          <p>
            {count(unknown.length, 'key')} that Tsigil does not know. Leave your own, and import
            those of Tsigil.
          </p>
          <ul class="stack-s">
            {unknown.map((name) => (
              <li class="row" key={name}>
                <Name text={name} />
                {may('nameservers:update') ? (
                  <button type="button" class="button text" onClick={() => setRemoved(name)}>
                    Remove…<span class="hidden"> {name}</span>
                  </button>
                ) : null}
              </li>
            ))}
          </ul>
        </>
      )}
      {references === null || references.length === 0 ? null : (
        <>
          <p>Lines of its configuration name these keys, so it needs them:</p>
          <ul class="stack-s">
            {references.map(({ key, place }) => (
              <li key={`${key} ${place}`}>
                <Name text={key} /> <code class="muted">{place}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="muted small">
        {evidence === null
          ? 'Its log is not read, so who uses a key is not known.'
          : evidence.problem === null
            ? `Its log is read. It has shown: ${evidence.shown.map(({ operation }) => operation).join(', ') || 'nothing yet'}.`
            : sentence(evidence.problem)}
      </p>
      {removed === undefined ? null : (
        <RemoveKey
          path={`v2/nameservers/${server.id}/remove-key`}
          name={removed}
          onClose={() => setRemoved(undefined)}
          onRemoved={() => {
            setRemoved(undefined);
            showToast('The next pass removes the key');
            reload();
          }}
        />
      )}
    </section>
  );
}

function RemoveKey(props: { path: string; name: string; onClose(): void; onRemoved(): void }) {
  const { path, name, onClose, onRemoved } = props;
  const options = { method: 'POST', body: { name } };
  const { isReferenced, remove } = useForcedDeletion(path, options);
  return (
    <Confirm
      title={
        <>
          Remove <Name text={name} />?
        </>
      }
      action={isReferenced ? 'Remove nevertheless' : 'Remove key'}
      keep="Keep"
      typed={name}
      run={async () => {
        await remove();
        onRemoved();
      }}
      onClose={onClose}
    >
      <p>
        The name server loses it with its rights in all zones. Tsigil does not have it, so it cannot
        be restored.
      </p>
    </Confirm>
  );
}
