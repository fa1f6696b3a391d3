import { isMoving, withStates } from '../keys/key-list.tsx';
import { useLive } from '../live.ts';
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

const DELIVERED = { state: 'delivered' };

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
      // The states are the worst on any name server, so they say nothing about one that has them all.
      const hasAll = server.state === 'live' && server.keys_live === server.keys_wanted;
      return {
        keys: hasAll
          ? keys.map((key) => ({ ...key, ...DELIVERED }))
          : await withStates(keys, options),
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
