import { signal, type Signal } from '@preact/signals';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { Collection, type Filter } from '../parts/collection.tsx';
import { Algorithm, State } from '../parts/states.tsx';
import type { Column } from '../parts/table.tsx';
import { Ago, Name, Reference } from '../parts/text.tsx';
import { get } from '../requests.ts';
import type { Key, KeyState } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import { DeleteKey, DeleteKeys } from './delete-key.tsx';
import { CreateKey } from './key-forms.tsx';

const FILTERS: readonly Filter[] = [
  {
    parameter: 'scope',
    label: 'Applies to',
    choices: [
      ['', 'Any'],
      ['POOL', 'A pool'],
      ['ZONE', 'A zone'],
    ],
  },
  {
    parameter: 'show',
    label: 'Show',
    choices: [
      ['', 'All keys'],
      ['weak', 'Weak keys'],
      ['unusable', 'Unusable keys'],
      ['orphaned', 'Without pool or zone'],
    ],
    send: (value) => ({ [value]: 'true' }),
  },
];

/** The states of the keys on screen, by id. A cell draws itself again when its state comes. */
const states = new Map<string, Signal<KeyState | undefined>>();

function stateOf(id: string): Signal<KeyState | undefined> {
  const known = states.get(id) ?? signal<KeyState | undefined>(undefined);
  states.set(id, known);
  return known;
}

const COLUMNS: readonly Column<Key>[] = [
  {
    label: 'Name',
    width: 34,
    sort: 'name',
    cell: ({ id, name }) => (
      <a class="main-link cell" href={pageOf('keys', id)}>
        <Name text={name} />
      </a>
    ),
  },
  {
    label: 'Algorithm',
    width: 17,
    cell: ({ algorithm }) => <Algorithm name={algorithm} />,
  },
  {
    label: 'Applies to',
    width: 24,
    cell: ({ scope, resource_id: id }) => (
      <span class="cell">
        <Reference collection={scope === 'POOL' ? 'pools' : 'zones'} id={id} withLabel />
      </span>
    ),
  },
  { label: 'Delivery', width: 13, cell: ({ id }) => <Delivery id={id} /> },
  {
    label: 'Created',
    width: 12,
    sort: 'created_at',
    cell: ({ created_at: at }) => <Ago at={at} />,
  },
];

function Delivery({ id }: { id: string }) {
  const state = stateOf(id).value;
  if (state === undefined) return <span class="muted"> </span>;
  return <State state={state.state} />;
}

export function KeyList() {
  const onShown = useStates();
  return (
    <Collection<Key>
      collection="tsigkeys"
      title="Keys"
      words={['key', 'keys']}
      columns={COLUMNS}
      filters={FILTERS}
      create="New key"
      actions={
        may('tsigkeys:create') ? (
          <a class="button" href={pageOf('keys', 'import')}>
            Import keys
          </a>
        ) : null
      }
      empty={
        <>
          <p class="muted">
            A key lets a secondary transfer zones, or a client update records. Create one and
            install it on both sides; Tsigil delivers it to the name servers of its pool.
          </p>
          <p class="muted small">
            Keys that you have already: <a href={pageOf('keys', 'import')}>import them</a> from the
            configuration of a name server, or run <code>tsigil tsigkey import FILE</code>.
          </p>
        </>
      }
      creation={(close) => <CreateKey onClose={close} />}
      deletion={{
        one: (key, props) => <DeleteKey {...props} keyData={key} />,
        several: (keys, props) => <DeleteKeys {...props} keys={keys} />,
      }}
      onShown={onShown}
    />
  );
}

/** Reads the states of the rows on screen, again while one of them is about to change. */
function useStates(): (rows: readonly Key[]) => void {
  const [shown, setShown] = useState<readonly Key[]>([]);
  useEffect(() => {
    if (shown.length === 0) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const read = async (ids: readonly string[], isBackground: boolean) => {
      let isPending = false;
      if (ids.length > 0 && document.visibilityState === 'visible')
        try {
          const body = await get<{ states: KeyState[] }>('v2/tsigkeys/states', {
            method: 'POST',
            body: { ids },
            isBackground,
            signal: abort.signal,
          });
          for (const state of body.states) stateOf(state.id).value = state;
          isPending = body.states.some(({ state }) => ['pending', 'removing'].includes(state));
        } catch {
          // The list says itself when the service cannot be reached.
        }
      if (!abort.signal.aborted)
        timer = setTimeout(
          () =>
            void read(
              shown.map(({ id }) => id),
              true,
            ),
          isPending ? 2000 : 15_000,
        );
    };
    const unknown = shown.filter(({ id }) => stateOf(id).peek() === undefined);
    timer = setTimeout(
      () =>
        void read(
          unknown.map(({ id }) => id),
          true,
        ),
      50,
    );
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [shown]);
  return useCallback(setShown, []);
}
