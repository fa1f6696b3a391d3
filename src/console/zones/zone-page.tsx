import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { useForcedDeletion } from '../parts/forced-deletion.ts';
import { forgetName } from '../names.ts';
import { ConfirmDeletion } from '../parts/dialog.tsx';
import { FurtherFacts, IdFact } from '../parts/fields.tsx';
import { History } from '../parts/history.tsx';
import { Denied, NotLive } from '../parts/notices.tsx';
import { PageHead, reading, Section, useTitle } from '../parts/page.tsx';
import { State } from '../parts/states.tsx';
import { Ago, count, Links, Name, Names, Reference, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import type { Key, OpeningKeys, Zone } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import { may, seesAllProjects } from '../session.ts';
import { EditZone } from './zone-forms.tsx';

const OWN_KEYS = 100;

/** Callers that see all projects need not know whose a zone is to open its page. */
function parameters(): string {
  return seesAllProjects() ? '?all_projects=true' : '';
}

/** A zone: its facts, and the keys that open something there. */
export function ZonePage({ id }: { id: string }) {
  const base = `v2/zones/${id}`;
  const live = useLive<Zone>(`${base}${parameters()}`, ({ status }) => status === 'PENDING');
  const opening = useLive<OpeningKeys>(
    may('tsigkeys:list') ? `${base}/tsigkeys${parameters()}` : undefined,
  );
  const own = useLive<{ tsigkeys: Key[] }>(
    may('tsigkeys:list') ? `v2/tsigkeys?scope=ZONE&resource_id=${id}&limit=${OWN_KEYS}` : undefined,
  );
  const [layer, setLayer] = useState<'edit' | 'delete'>();
  const { data: zone } = live;
  useTitle(zone === undefined ? 'Zone' : visible(zone.name));
  const crumb = { label: 'Zones', href: pageOf('zones') };
  if (zone === undefined) return reading({ title: 'Zone', crumb, live, what: 'the zone' });
  const close = () => setLayer(undefined);
  return (
    <>
      <PageHead title={<Name text={zone.name} isWhole />} crumb={crumb}>
        {may('zones:update') ? (
          <button type="button" class="button" onClick={() => setLayer('edit')}>
            Edit
          </button>
        ) : (
          <Denied right="zones:update" what="Changing a zone" />
        )}
        {may('zones:delete') ? (
          <button type="button" class="button" onClick={() => setLayer('delete')}>
            Delete…
          </button>
        ) : (
          <Denied right="zones:delete" what="Deleting a zone" />
        )}
      </PageHead>
      <div class="stack">
        <NotLive error={live.error} asOf={live.asOf} reload={live.reload} />
        <Facts zone={zone} />
        <div class="columns">
          {may('tsigkeys:list') ? (
            <Section title="Keys that open it" live={opening}>
              {(found) => <Opening {...found} />}
            </Section>
          ) : null}
          <History collection="zones" id={id} />
        </div>
      </div>
      {layer === 'edit' ? (
        <EditZone
          zone={zone}
          parameters={parameters()}
          onClose={close}
          onSaved={() => {
            close();
            showToast('Zone changed');
            live.reload();
          }}
        />
      ) : layer === 'delete' ? (
        <DeleteZone
          zone={zone}
          keys={own.data?.tsigkeys ?? []}
          opening={opening.data}
          onClose={close}
        />
      ) : null}
    </>
  );
}

/** The fields that the page shows itself. */
const SHOWN: readonly (keyof Zone)[] = [
  'id',
  'name',
  'status',
  'action',
  'pool_id',
  'project_id',
  'created_at',
  'updated_at',
];

function Facts({ zone }: { zone: Zone }) {
  return (
    <section class="panel" aria-label="The zone">
      <dl class="facts">
        <dt>Status</dt>
        <dd>
          <State state={zone.status} />
        </dd>
        <dt>Pool</dt>
        <dd>
          <Reference collection="pools" id={zone.pool_id} />
        </dd>
        <dt>Project</dt>
        <dd>
          <bdi>{visible(zone.project_id ?? '–')}</bdi>
        </dd>
        <FurtherFacts collection="zones" resource={zone} shown={SHOWN} />
        <dt>Created</dt>
        <dd>
          <Ago at={zone.created_at} />
        </dd>
        <IdFact id={zone.id} />
      </dl>
    </section>
  );
}

function Opening({ keys, more }: OpeningKeys) {
  if (keys.length === 0) return <p class="muted">No key opens anything here.</p>;
  return (
    <Links
      page="keys"
      rows={keys}
      more={more}
      note={({ opens }) => [...new Set(opens.flatMap(({ rights }) => rights))].join(', ')}
    />
  );
}

/** Deletes a zone, after it said what stops working. */
function DeleteZone(props: {
  zone: Zone;
  keys: readonly Key[];
  opening: OpeningKeys | undefined;
  onClose(): void;
}) {
  const { zone, keys, opening, onClose } = props;
  const { isReferenced, remove } = useForcedDeletion(`v2/zones/${zone.id}${parameters()}`);
  const isUnknown = opening === undefined;
  const isUsed = isUnknown || keys.length > 0 || opening.keys.length > 0;
  return (
    <ConfirmDeletion
      name={zone.name}
      action={isReferenced ? 'Delete nevertheless' : 'Delete zone'}
      isTyped={isUsed}
      run={async () => {
        await remove();
        forgetName('zones', zone.id);
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
      {keys.length === 0 ? null : (
        <p>
          {keys.length === OWN_KEYS ? `At least ${OWN_KEYS} keys` : count(keys.length, 'key')} of
          its own lose their zone and leave every name server:{' '}
          <Names names={keys.map(({ name }) => name)} of={keys.length} />.
        </p>
      )}
    </ConfirmDeletion>
  );
}
