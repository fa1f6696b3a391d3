import { useState } from 'preact/hooks';
import { isMoving, readStates } from '../keys/key-list.tsx';
import { useLive } from '../live.ts';
import { Ask } from '../parts/acts.tsx';
import { Lines } from '../parts/lines.tsx';
import { Section } from '../parts/page.tsx';
import { count, Link, Name } from '../parts/text.tsx';
import { get } from '../requests.ts';
import type { NameServer, OpeningKeys, Removing } from '../resources.ts';
import { may } from '../session.ts';

type Opening = OpeningKeys['keys'][number] & { readonly state?: string };

interface Keys {
  readonly keys: readonly Opening[];
  readonly more: number;
  /** The names of the keys that the name server still has. */
  readonly removing: readonly string[];
}

function openedBy({ opens }: Opening): string {
  const parts = opens.map(({ rights, zones }) => {
    const where = zones === 'all' ? '' : ` of ${count(zones, 'zone')}`;
    return rights.join(' and ') + where;
  });
  return parts.join(', ') || 'opens nothing';
}

/** The keys that a name server should have, with what they open on it, and those that have to go. */
export function KeysThere({ server }: { server: NameServer }) {
  const isAllowed = may('tsigkeys:list');
  const live = useLive<Keys>(
    isAllowed ? `v2/nameservers/${server.id}/tsigkeys` : undefined,
    ({ keys, removing }) => removing.length > 0 || keys.some(({ state }) => isMoving(state)),
    async (path, isBackground, signal) => {
      const options = { isBackground, signal };
      const { keys, more } = await get<OpeningKeys>(path, options);
      const { deliveries } = await get<Removing>('v2/deliveries?state=removing', options);
      const ids = keys.map(({ id }) => id);
      const states = ids.length === 0 ? [] : await readStates(ids, options);
      const known = new Map(states.map(({ id, state }) => [id, { state }]));
      return {
        keys: keys.map((key) => ({ ...key, ...known.get(key.id) })),
        more,
        removing: deliveries
          .filter(({ name_server: its }) => its === server.name)
          .map(({ key_name: name }) => name),
      };
    },
  );
  if (!isAllowed) return null;
  return (
    <Section title="Keys" live={live}>
      {({ keys, more, removing }) => (
        <>
          <Lines
            lines={[
              ...removing.map((name) => ({
                key: `removing ${name}`,
                state: 'removing',
                text: <Name text={name} />,
                detail: 'removing',
              })),
              ...keys.map((key) => ({
                key: key.id,
                state: key.state ?? '',
                text: <Link page="keys" {...key} />,
                detail: `${key.state === 'delivered' ? '' : `${key.state ?? ''}, `}${openedBy(key)}`,
              })),
            ]}
          />
          {more === 0 ? null : <p class="muted">And {count(more, 'more key')}.</p>}
        </>
      )}
    </Section>
  );
}

/** What is on a name server beside the keys of Tsigil: unknown keys, and lines that name keys. */
export function Others({ server }: { server: NameServer }) {
  const { id, unknown_keys: unknown, key_references: references } = server;
  const [removed, setRemoved] = useState<string>();
  if (unknown.length === 0 && (references ?? []).length === 0) return null;
  return (
    <section class="panel" aria-label="What else is there">
      <h2>What else is there</h2>
      {unknown.length === 0 ? null : (
        <p>
          {count(unknown.length, 'key')} that Tsigil does not know. Leave your own, and import those
          of Tsigil.
        </p>
      )}
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
        {(references ?? []).map(({ key, place }) => (
          <li key={`${key} ${place}`}>
            <Name text={key} /> is named in its configuration, which needs it:{' '}
            <code class="muted">{place}</code>
          </li>
        ))}
      </ul>
      {removed === undefined ? null : (
        <Ask
          title={
            <>
              Remove <Name text={removed} />?
            </>
          }
          action="Remove key"
          text={
            <p>
              The name server loses it with its rights in all zones. Tsigil does not have it, so it
              cannot be restored.
            </p>
          }
          path={`v2/nameservers/${id}/remove-key`}
          body={{ name: removed }}
          typed={removed}
          done="The next pass removes the key"
          onClose={() => setRemoved(undefined)}
        />
      )}
    </section>
  );
}
