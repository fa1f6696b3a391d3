import { useLive } from '../live.ts';
import { Facts } from '../parts/facts.tsx';
import { Section } from '../parts/page.tsx';
import { deleting, editing } from '../parts/resource-forms.tsx';
import { ResourcePage } from '../parts/resource-page.tsx';
import { countOf, Links, Names } from '../parts/text.tsx';
import type { Key, OpeningKeys, Zone } from '../resources.ts';
import { useFirst, type Found } from '../rows.ts';
import { may, seesAllProjects } from '../session.ts';

/** What a person asks first stands first. Which fields a type needs, the service says. */
export const FORM = {
  collection: 'zones',
  order: ['name', 'type', 'email', 'masters', 'pool_id', 'ttl', 'description'],
};

/** A zone: its facts, and the keys that open something there. */
export function ZonePage({ id }: { id: string }) {
  // Callers that see all projects need not know whose a zone is to open its page.
  const parameters = seesAllProjects() ? '?all_projects=true' : '';
  const base = `v2/zones/${id}`;
  const live = useLive<Zone>(base + parameters, ({ status }) => status === 'PENDING');
  const mayList = may('tsigkeys:list');
  const opening = useLive<OpeningKeys>(mayList ? `${base}/tsigkeys${parameters}` : undefined);
  const own = useFirst<Key>('tsigkeys', `scope=ZONE&resource_id=${id}`, 100);
  const isUsed = own.data?.rows.length !== 0 || opening.data?.keys.length !== 0;
  return (
    <ResourcePage
      collection="zones"
      live={live}
      acts={(zone) => [
        editing({
          ...FORM,
          without: zone.type === 'SECONDARY' ? ['email', 'ttl'] : ['masters'],
          parameters,
          resource: zone,
        }),
        deleting('zones', zone, {
          isTyped: isUsed,
          text: <Consequences isUsed={isUsed} own={own.data} />,
          parameters,
        }),
      ]}
      parts={() =>
        mayList ? (
          <Section title="Keys that open it" live={opening}>
            {({ keys, more }) =>
              keys.length === 0 ? (
                <p class="muted">No key opens anything here.</p>
              ) : (
                <Links page="keys" rows={keys} more={more} note={rightsOf} />
              )
            }
          </Section>
        ) : null
      }
    >
      {(zone) => <Facts collection="zones" resource={zone} />}
    </ResourcePage>
  );
}

function rightsOf({ opens }: OpeningKeys['keys'][number]): string {
  return [...new Set(opens.flatMap(({ rights }) => rights))].join(', ');
}

/** Says what stops working without a zone. */
function Consequences({ isUsed, own }: { isUsed: boolean; own: Found<Key> | undefined }) {
  return (
    <>
      <p>
        {isUsed
          ? 'Name servers then refuse what keys open in it. Deleting it cannot be undone.'
          : 'No key opens anything in it. Deleting it cannot be undone.'}
      </p>
      {own === undefined || own.rows.length === 0 ? null : (
        <p>
          {countOf(own, 'key')} of its own lose their zone and leave every name server:{' '}
          <Names names={own.rows.map(({ name }) => name)} of={own.rows.length} />.
        </p>
      )}
    </>
  );
}
