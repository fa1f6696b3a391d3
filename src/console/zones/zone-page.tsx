import { useLive } from '../live.ts';
import { Facts } from '../parts/facts.tsx';
import { Section } from '../parts/page.tsx';
import { deleting, editing } from '../parts/resource-forms.tsx';
import { ResourcePage } from '../parts/resource-page.tsx';
import { Links, Names } from '../parts/text.tsx';
import type { OpeningKeys, Zone } from '../resources.ts';
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
          isTyped: opening.data?.keys.length !== 0,
          text: <Consequences opening={opening.data} />,
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
function Consequences({ opening }: { opening: OpeningKeys | undefined }) {
  const { keys = [], more = 0 } = opening ?? {};
  const number = keys.length + more;
  if (opening !== undefined && number === 0)
    return <p>No key opens anything in it. Deleting it cannot be undone.</p>;
  return (
    <p>
      Name servers then refuse what keys open in it
      {number === 0 ? '' : ': '}
      <Names names={keys.map(({ name }) => name)} of={number} />. Keys of its own leave every name
      server. Deleting it cannot be undone.
    </p>
  );
}
