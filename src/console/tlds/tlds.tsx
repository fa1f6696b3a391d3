import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { Button } from '../parts/button.tsx';
import { Collection, type Columns } from '../parts/collection.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Facts } from '../parts/facts.tsx';
import { CreateResource, deleting, editing } from '../parts/resource-forms.tsx';
import { ResourcePage } from '../parts/resource-page.tsx';
import { count, Names, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { RequestError, send } from '../requests.ts';
import type { Tld } from '../resources.ts';
import { pageOf, type ScreenProps } from '../router.ts';
import { may, wordOf } from '../session.ts';
import { ImportTlds } from './import.tsx';

export function Tlds({ path: [id] }: ScreenProps) {
  if (id === undefined) return <TldList />;
  return id === 'import' ? <ImportTlds /> : <TldPage key={id} id={id} />;
}

const CONSEQUENCES = (
  <p>
    No new zone can end in what is removed. Zones that exist stay as they are. If no entry is left,
    zones may have any name again. An entry comes back by creating it again.
  </p>
);

/** A top-level domain. */
function TldPage({ id }: { id: string }) {
  const live = useLive<Tld>(`v2/tlds/${id}`);
  return (
    <ResourcePage
      collection="tlds"
      live={live}
      acts={(tld) => [
        editing({ collection: 'tlds', resource: tld }),
        deleting('tlds', tld, { isTyped: false, text: CONSEQUENCES }),
      ]}
    >
      {(tld) => <Facts collection="tlds" resource={tld} />}
    </ResourcePage>
  );
}

/** The top-level domains under which zones may be created. */
function TldList() {
  const [removed, setRemoved] = useState<readonly Tld[]>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const columns: Columns<Tld> = [
    ['name', 28],
    ['description', 44],
    ['created_at', 16],
    {
      label: 'Select',
      width: 12,
      cell: ({ id, name }) => (
        <input
          type="checkbox"
          aria-label={`Select ${visible(name)}`}
          checked={chosen.has(id)}
          onChange={({ currentTarget: { checked } }) =>
            setChosen(new Set([...chosen, id].filter((each) => checked || each !== id)))
          }
        />
      ),
    },
  ];
  return (
    <>
      <Collection<Tld>
        collection="tlds"
        columns={may('tlds:delete') ? columns : columns.slice(0, -1)}
        actions={
          may('tlds:create') ? (
            <a class="button" href={pageOf('tlds', 'import')}>
              Import a list
            </a>
          ) : null
        }
        empty={
          <p class="muted">
            Without an entry, zones may have any name. With the first one, the last label of each
            new zone must be an entry.
          </p>
        }
        creation={(close) => <CreateResource collection="tlds" onClose={close} onCreated={close} />}
      >
        {(rows) => {
          const selected = rows.filter(({ id }) => chosen.has(id));
          if (selected.length === 0) return null;
          return (
            <Button onClick={() => setRemoved(selected)}>Remove {selected.length} selected…</Button>
          );
        }}
      </Collection>
      {removed === undefined ? null : (
        <Removal tlds={removed} onClose={() => setRemoved(undefined)} />
      )}
    </>
  );
}

/** Asks before several entries are removed, and stops at the first refusal. */
function Removal({ tlds, onClose }: { tlds: readonly Tld[]; onClose(): void }) {
  const number = count(tlds.length, wordOf('tlds'));
  const run = async () => {
    for (const { id } of tlds)
      await send(`v2/tlds/${id}`, 'DELETE').catch((failure: unknown) => {
        const isGone = failure instanceof RequestError && failure.type === 'tld_not_found';
        if (!isGone) throw failure;
      });
    showToast(`${number} removed`);
    onClose();
  };
  return (
    <Confirm
      title={`Remove ${number}?`}
      action={`Remove ${number}`}
      typed={tlds.length > 1 ? String(tlds.length) : undefined}
      {...{ run, onClose }}
    >
      <p>
        <Names names={tlds.map(({ name }) => name)} of={tlds.length} />
      </p>
      {CONSEQUENCES}
    </Confirm>
  );
}
