import { useState } from 'preact/hooks';
import { Collection } from '../parts/collection.tsx';
import { DeleteSeveral } from '../parts/delete-several.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { CreateResource, EditResource } from '../parts/resource-forms.tsx';
import type { Column } from '../parts/table.tsx';
import { Ago, count, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { asRequestError, request } from '../requests.ts';
import type { Tld } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import type { ScreenProps } from '../shell/screen-props.ts';
import { ImportTlds } from './import.tsx';

interface Chosen {
  readonly act: 'edit' | 'delete';
  readonly tld: Tld;
}

const WORDS = ['top-level domain', 'top-level domains'] as const;
const IMPORT_RIGHT = 'tlds:import';

export function Tlds({ path }: ScreenProps) {
  return path[0] === 'import' ? <ImportTlds /> : <TldList />;
}

/** The top-level domains under which zones may be created. */
function TldList() {
  const [layer, setLayer] = useState<Chosen>();
  // Counts the changes. The list reads its rows again after each.
  const [changes, setChanges] = useState(0);
  const close = () => setLayer(undefined);
  const changed = () => {
    close();
    setChanges((count) => count + 1);
  };
  /** Removes an entry at once if the caller could bring it back with its id. */
  const remove = async (tld: Tld) => {
    try {
      await request(`v2/tlds/${tld.id}`, { method: 'DELETE' });
    } catch (failure) {
      showToast(asRequestError(failure).message);
      return;
    }
    changed();
    showToast(`Removed ${visible(tld.name)}`, { label: 'Undo', run: () => void restore([tld]) });
  };
  const restore = async (tlds: readonly Tld[]) => {
    const [first] = tlds;
    const body = { tlds };
    try {
      await request('v2/tlds/import', { method: 'POST', body });
      showToast(
        tlds.length === 1 && first !== undefined
          ? `${visible(first.name)} is back`
          : `${count(tlds.length, ...WORDS)} are back`,
      );
    } catch (failure) {
      showToast(asRequestError(failure).message);
    }
    changed();
  };
  const [columns] = useState(() =>
    columnsWith((chosen) => {
      if (chosen.act === 'delete' && may(IMPORT_RIGHT)) void remove(chosen.tld);
      else setLayer(chosen);
    }),
  );
  const undo = may(IMPORT_RIGHT) ? restore : undefined;
  return (
    <>
      <Collection<Tld>
        changes={changes}
        collection="tlds"
        title="Top-level domains"
        columns={columns}
        create="Add a domain"
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
        creation={(closeForm) => (
          <CreateResource
            collection="tlds"
            title="New top-level domain"
            action="Add domain"
            onClose={closeForm}
            onCreated={() => {
              closeForm();
              showToast('Domain added');
              changed();
            }}
          />
        )}
        deletion={{
          one: (tld, props) => <DeleteTld {...props} tld={tld} undo={undo} />,
          several: (tlds, props) => (
            <DeleteSeveral {...props} collection="tlds" words={WORDS} rows={tlds} undo={undo}>
              <p>
                No new zone can end in them then. Zones that exist stay as they are. If no entry is
                left, zones may have any name again.
              </p>
            </DeleteSeveral>
          ),
        }}
      />
      {layer?.act === 'edit' ? (
        <EditResource
          collection="tlds"
          resource={layer.tld}
          title="Edit top-level domain"
          action="Save changes"
          onClose={close}
          onSaved={() => {
            showToast('Domain changed');
            changed();
          }}
        />
      ) : layer?.act === 'delete' ? (
        <DeleteTld tld={layer.tld} onClose={close} onDeleted={changed} />
      ) : null}
    </>
  );
}

function columnsWith(onAct: (chosen: Chosen) => void): readonly Column<Tld>[] {
  return [
    {
      label: 'Name',
      width: 28,
      sort: 'name',
      cell: (tld) =>
        may('tlds:update') ? (
          <button
            type="button"
            class="button text main-link cell"
            onClick={() => onAct({ act: 'edit', tld })}
          >
            <bdi class="mono">{visible(tld.name)}</bdi>
          </button>
        ) : (
          <bdi class="mono cell">{visible(tld.name)}</bdi>
        ),
    },
    {
      label: 'Description',
      width: 44,
      cell: ({ description }) => <bdi class="cell">{visible(description ?? '')}</bdi>,
    },
    {
      label: 'Created',
      width: 14,
      sort: 'created_at',
      cell: ({ created_at: at }) => <Ago at={at} />,
    },
    {
      label: 'Actions',
      width: 14,
      cell: (tld) =>
        may('tlds:delete') ? (
          <button
            type="button"
            class="button text"
            aria-label={`Remove ${visible(tld.name)}`}
            onClick={() => onAct({ act: 'delete', tld })}
          >
            Remove
          </button>
        ) : null,
    },
  ];
}

function DeleteTld(props: {
  tld: Tld;
  undo?: ((tlds: readonly Tld[]) => Promise<void>) | undefined;
  onClose(): void;
  onDeleted(): void;
}) {
  const { tld, undo, onClose, onDeleted } = props;
  return (
    <Confirm
      title={
        <>
          Remove <bdi class="mono">{visible(tld.name)}</bdi>?
        </>
      }
      action="Remove domain"
      keep="Keep"
      run={async () => {
        await request(`v2/tlds/${tld.id}`, { method: 'DELETE' });
        const action =
          undo === undefined ? undefined : { label: 'Undo', run: () => void undo([tld]) };
        showToast('Domain removed', action);
        onDeleted();
      }}
      onClose={onClose}
    >
      <p>
        No new zone can end in it then. Zones that exist stay as they are. If it is the last entry,
        zones may have any name again.
      </p>
    </Confirm>
  );
}
