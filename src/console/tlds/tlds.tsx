import { useRef, useState } from 'preact/hooks';
import { Collection } from '../parts/collection.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { CreateResource, EditResource } from '../parts/resource-forms.tsx';
import type { Column } from '../parts/table.tsx';
import { Ago, count, Names, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { asRequestError, request, RequestError } from '../requests.ts';
import type { Tld } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import type { ScreenProps } from '../shell/screen-props.ts';
import { send } from './bulk.ts';
import { ImportTlds } from './import.tsx';

const WORDS = ['top-level domain', 'top-level domains'] as const;

export function Tlds({ path }: ScreenProps) {
  return path[0] === 'import' ? <ImportTlds /> : <TldList />;
}

/** The top-level domains under which zones may be created. */
function TldList() {
  const [edited, setEdited] = useState<Tld>();
  const [removed, setRemoved] = useState<readonly Tld[]>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<number | undefined>(undefined);
  const shown = useRef<readonly Tld[]>([]);
  /** Chooses a row or the opposite, and with Shift all rows since the last one. */
  const pick = ({ id }: Tld, isRange: boolean) => {
    const index = shown.current.findIndex((each) => each.id === id);
    const from = isRange ? (last.current ?? index) : index;
    last.current = index;
    const next = new Set(chosen);
    const isOn = !chosen.has(id);
    for (const each of shown.current.slice(Math.min(from, index), Math.max(from, index) + 1))
      if (isOn) next.add(each.id);
      else next.delete(each.id);
    setChosen(next);
  };
  const columns = columnsOf(
    (tld) => (
      <input
        type="checkbox"
        aria-label={`Select ${visible(tld.name)}`}
        checked={chosen.has(tld.id)}
        onClick={({ shiftKey }) => pick(tld, shiftKey)}
      />
    ),
    setEdited,
    (tld) => {
      if (may('tlds:create')) remove([tld]).catch(sayFailure);
      else setRemoved([tld]);
    },
  );
  return (
    <>
      <Collection<Tld>
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
        creation={(close) => (
          <CreateResource
            collection="tlds"
            title="New top-level domain"
            action="Add domain"
            onClose={close}
            onCreated={() => {
              close();
              showToast('Domain added');
            }}
          />
        )}
      >
        {(rows) => {
          shown.current = rows;
          const selected = rows.filter(({ id }) => chosen.has(id));
          if (selected.length === 0) return null;
          return (
            <span class="row">
              <b>{selected.length} selected</b>
              <button type="button" class="button" onClick={() => setRemoved(selected)}>
                Remove…
              </button>
              <button type="button" class="button text" onClick={() => setChosen(new Set())}>
                Clear selection
              </button>
            </span>
          );
        }}
      </Collection>
      {edited === undefined ? null : (
        <EditResource
          collection="tlds"
          resource={edited}
          title="Edit top-level domain"
          onClose={() => setEdited(undefined)}
        />
      )}
      {removed === undefined ? null : (
        <Removal tlds={removed} onClose={() => setRemoved(undefined)} />
      )}
    </>
  );
}

function columnsOf(
  tick: (tld: Tld) => preact.JSX.Element,
  onEdit: (tld: Tld) => void,
  onRemove: (tld: Tld) => void,
): readonly Column<Tld>[] {
  return [
    {
      label: 'Name',
      width: 28,
      sort: 'name',
      cell: (tld) => {
        const name = <bdi class="mono">{visible(tld.name)}</bdi>;
        return (
          <span class="row">
            {may('tlds:delete') ? tick(tld) : null}
            {may('tlds:update') ? (
              <button type="button" class="button text" onClick={() => onEdit(tld)}>
                {name}
              </button>
            ) : (
              name
            )}
          </span>
        );
      },
    },
    {
      label: 'Description',
      width: 44,
      cell: ({ description }) => <bdi>{visible(description ?? '')}</bdi>,
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
            onClick={() => onRemove(tld)}
          >
            Remove
          </button>
        ) : null,
    },
  ];
}

function sayFailure(failure: unknown): void {
  showToast(asRequestError(failure).message);
}

/** Removes entries until the first refusal, and offers to create them again. */
async function remove(tlds: readonly Tld[]): Promise<void> {
  const done: Tld[] = [];
  try {
    for (const tld of tlds) {
      await request(`v2/tlds/${tld.id}`, { method: 'DELETE' }).catch((failure: unknown) => {
        const isGone = failure instanceof RequestError && failure.type === 'tld_not_found';
        if (!isGone) throw failure;
      });
      done.push(tld);
    }
  } finally {
    const undo = () => {
      send(done, { replace: false, dry_run: false }).then(
        () => showToast(`${count(done.length, ...WORDS)} back`),
        sayFailure,
      );
    };
    if (done.length > 0)
      showToast(
        `${count(done.length, ...WORDS)} removed`,
        may('tlds:create') ? { label: 'Undo', run: undo } : undefined,
      );
  }
}

/** Asks before entries are removed. */
function Removal({ tlds, onClose }: { tlds: readonly Tld[]; onClose(): void }) {
  const number = count(tlds.length, ...WORDS);
  return (
    <Confirm
      title={`Remove ${number}?`}
      action={`Remove ${number}`}
      keep="Keep"
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
