import { useLive } from '../live.ts';
import { ConfirmDeletion } from '../parts/dialog.tsx';
import { Facts } from '../parts/fields.tsx';
import { useForcedDeletion } from '../parts/forced-deletion.ts';
import { History } from '../parts/history.tsx';
import { Section } from '../parts/page.tsx';
import { EditResource } from '../parts/resource-forms.tsx';
import { ResourcePage } from '../parts/resource-page.tsx';
import { State } from '../parts/states.tsx';
import { countOf, Links, Names } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import type { Key, OpeningKeys, Zone } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import { useFirst, type Found } from '../rows.ts';
import { may, seesAllProjects } from '../session.ts';

/** What a person asks first stands first. Which fields a type needs, the service says. */
export const FORM = {
  collection: 'zones',
  order: ['name', 'type', 'email', 'masters', 'pool_id', 'ttl', 'description'],
};

const OWN_KEYS = 100;

/** A zone: its facts, and the keys that open something there. */
export function ZonePage({ id }: { id: string }) {
  // Callers that see all projects need not know whose a zone is to open its page.
  const parameters = seesAllProjects() ? '?all_projects=true' : '';
  const base = `v2/zones/${id}`;
  const live = useLive<Zone>(base + parameters, ({ status }) => status === 'PENDING');
  const opening = useLive<OpeningKeys>(
    may('tsigkeys:list') ? `${base}/tsigkeys${parameters}` : undefined,
  );
  const own = useFirst<Key>('tsigkeys', `scope=ZONE&resource_id=${id}`, OWN_KEYS);
  return (
    <ResourcePage
      collection="zones"
      live={live}
      edit={(zone, close) => (
        <EditResource
          {...FORM}
          without={zone.type === 'SECONDARY' ? ['email', 'ttl'] : ['masters']}
          parameters={parameters}
          resource={zone}
          title="Edit zone"
          onClose={close}
        />
      )}
      remove={(zone, close) => (
        <DeleteZone
          zone={zone}
          path={base + parameters}
          keys={own.data}
          opening={opening.data}
          onClose={close}
        />
      )}
    >
      {(zone) => (
        <>
          <Facts
            collection="zones"
            resource={zone}
            special={{ status: <State state={zone.status} /> }}
          />
          <div class="columns">
            {may('tsigkeys:list') ? (
              <Section title="Keys that open it" live={opening}>
                {({ keys, more }) =>
                  keys.length === 0 ? (
                    <p class="muted">No key opens anything here.</p>
                  ) : (
                    <Links
                      page="keys"
                      rows={keys}
                      more={more}
                      note={({ opens }) =>
                        [...new Set(opens.flatMap(({ rights }) => rights))].join(', ')
                      }
                    />
                  )
                }
              </Section>
            ) : null}
            <History collection="zones" id={id} />
          </div>
        </>
      )}
    </ResourcePage>
  );
}

/** Deletes a zone, after it said what stops working. */
function DeleteZone(props: {
  zone: Zone;
  path: string;
  keys: Found<Key> | undefined;
  opening: OpeningKeys | undefined;
  onClose(): void;
}) {
  const { zone, path, keys, opening, onClose } = props;
  const { isReferenced, remove } = useForcedDeletion(path);
  const isUnknown = opening === undefined;
  const own = keys?.rows ?? [];
  const isUsed = isUnknown || own.length > 0 || opening.keys.length > 0;
  return (
    <ConfirmDeletion
      name={zone.name}
      action={isReferenced ? 'Delete nevertheless' : 'Delete zone'}
      isTyped={isUsed}
      run={async () => {
        await remove();
        showToast('Zone deleted');
        open(pageOf('zones'));
      }}
      onClose={onClose}
    >
      <p>
        {isUnknown
          ? 'Keys may open it: they could not be read, or reading them needs the right tsigkeys:list. '
          : ''}
        {isUsed
          ? 'Name servers then refuse what keys open in it. Deleting it cannot be undone.'
          : 'No key opens anything in it. Deleting it cannot be undone.'}
      </p>
      {keys === undefined || own.length === 0 ? null : (
        <p>
          {countOf(keys, 'key')} of its own lose their zone and leave every name server:{' '}
          <Names names={own.map(({ name }) => name)} of={own.length} />.
        </p>
      )}
    </ConfirmDeletion>
  );
}
