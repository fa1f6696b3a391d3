import { useState } from 'preact/hooks';
import { atOnce } from '../parts/acts.tsx';
import { Collection, type Columns } from '../parts/collection.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { CreateResource, EditResource } from '../parts/resource-forms.tsx';
import { count, Name, Names, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { RequestError, send } from '../requests.ts';
import type { Tld } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may, wordOf } from '../session.ts';
import type { ScreenProps } from '../shell/screen-props.ts';
import { apply } from './bulk.ts';
import { ImportTlds } from './import.tsx';

export function Tlds({ path }: ScreenProps) {
  return path[0] === 'import' ? <ImportTlds /> : <TldList />;
}

/** The top-level domains under which zones may be created. */
function TldList() {
  const [edited, setEdited] = useState<Tld>();
  const [removed, setRemoved] = useState<readonly Tld[]>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const onRemove = (tld: Tld) => {
    if (may('tlds:create')) void atOnce(() => remove([tld]));
    else setRemoved([tld]);
  };
  const onChoose = ({ id }: Tld, isOn: boolean) =>
    setChosen(new Set(isOn ? [...chosen, id] : [...chosen].filter((each) => each !== id)));
  return (
    <>
      <Collection<Tld>
        collection="tlds"
        columns={columnsOf(chosen, { onChoose, onRemove, onEdit: setEdited })}
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
        creation={(close) => (
          <CreateResource
            collection="tlds"
            onClose={close}
            onCreated={() => {
              close();
              showToast('Domain added');
            }}
          />
        )}
      >
        {(rows) => {
          const selected = rows.filter(({ id }) => chosen.has(id));
          if (selected.length === 0) return null;
          return (
            <span class="row">
              <b>{selected.length} selected</b>
              <button type="button" class="button" onClick={() => setRemoved(selected)}>
                Remove…
              </button>
            </span>
          );
        }}
      </Collection>
      {edited === undefined ? null : (
        <EditResource collection="tlds" resource={edited} onClose={() => setEdited(undefined)} />
      )}
      {removed === undefined ? null : (
        <Removal tlds={removed} onClose={() => setRemoved(undefined)} />
      )}
    </>
  );
}

interface Handlers {
  onChoose(tld: Tld, isOn: boolean): void;
  onEdit(tld: Tld): void;
  onRemove(tld: Tld): void;
}

function columnsOf(
  chosen: ReadonlySet<string>,
  { onChoose, onEdit, onRemove }: Handlers,
): Columns<Tld> {
  return [
    {
      label: 'Name',
      width: 28,
      sort: 'name',
      cell: (tld) => (
        <span class="row">
          {may('tlds:delete') ? (
            <input
              type="checkbox"
              aria-label={`Select ${visible(tld.name)}`}
              checked={chosen.has(tld.id)}
              onChange={({ currentTarget }) => onChoose(tld, currentTarget.checked)}
            />
          ) : null}
          <Name text={tld.name} />
        </span>
      ),
    },
    ['description', 40],
    ['created_at', 14],
    {
      label: 'Actions',
      width: 18,
      cell: (tld) => (
        <>
          {may('tlds:update') ? (
            <button
              type="button"
              class="button text"
              aria-label={`Edit ${visible(tld.name)}`}
              onClick={() => onEdit(tld)}
            >
              Edit
            </button>
          ) : null}
          {may('tlds:delete') ? (
            <button
              type="button"
              class="button text"
              aria-label={`Remove ${visible(tld.name)}`}
              onClick={() => onRemove(tld)}
            >
              Remove
            </button>
          ) : null}
        </>
      ),
    },
  ];
}

/** Removes entries until the first refusal, and offers to create them again. */
async function remove(tlds: readonly Tld[]): Promise<void> {
  const done: Tld[] = [];
  try {
    for (const tld of tlds) {
      await send(`v2/tlds/${tld.id}`, 'DELETE').catch((failure: unknown) => {
        const isGone = failure instanceof RequestError && failure.type === 'tld_not_found';
        if (!isGone) throw failure;
      });
      done.push(tld);
    }
  } finally {
    const number = count(done.length, wordOf('tlds'));
    const undo = async () => {
      await apply(done, { replace: false });
      showToast(`${number} back`);
    };
    if (done.length > 0)
      showToast(
        `${number} removed`,
        may('tlds:create') ? { label: 'Undo', run: () => void atOnce(undo) } : undefined,
      );
  }
}

/** Asks before entries are removed. */
function Removal({ tlds, onClose }: { tlds: readonly Tld[]; onClose(): void }) {
  const number = count(tlds.length, wordOf('tlds'));
  return (
    <Confirm
      title={`Remove ${number}?`}
      action={`Remove ${number}`}
      typed={tlds.length > 1 ? String(tlds.length) : undefined}
      run={async () => {
        await remove(tlds);
        onClose();
      }}
      onClose={onClose}
    >
      <p>
        <Names names={tlds.map(({ name }) => name)} of={tlds.length} />
      </p>
      <p>
        No new zone can end in {tlds.length > 1 ? 'them' : 'it'} then. Zones that exist stay as they
        are. If no entry is left, zones may have any name again.
      </p>
    </Confirm>
  );
}
