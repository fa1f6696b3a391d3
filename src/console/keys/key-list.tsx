import { Collection, type Filter } from '../parts/collection.tsx';
import { Algorithm, State } from '../parts/states.tsx';
import type { Column } from '../parts/table.tsx';
import { Ago, Name, Reference } from '../parts/text.tsx';
import { get, type RequestOptions } from '../requests.ts';
import type { Key, KeyState } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
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

/** How many keys the service says something about at a time. */
const MOST = 1000;

type Row = Key & { readonly state?: string };

/** Reads where the keys of a list are. */
async function withStates(keys: readonly Row[], options: RequestOptions): Promise<readonly Row[]> {
  const { states } = await get<{ states: KeyState[] }>('v2/tsigkeys/states', {
    ...options,
    method: 'POST',
    body: { ids: keys.slice(0, MOST).map(({ id }) => id) },
  });
  const known = new Map(states.map(({ id, state }) => [id, { state }]));
  return keys.map((key) => ({ ...key, ...known.get(key.id) }));
}

const FORM = {
  complete: withStates,
  isPending: ({ state = '' }: Row) => ['pending', 'removing'].includes(state),
};

const COLUMNS: readonly Column<Row>[] = [
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
  {
    label: 'Delivery',
    width: 13,
    cell: ({ state }) => (state === undefined ? null : <State state={state} />),
  },
  {
    label: 'Created',
    width: 12,
    sort: 'created_at',
    cell: ({ created_at: at }) => <Ago at={at} />,
  },
];

export function KeyList() {
  return (
    <Collection<Row>
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
      form={FORM}
    />
  );
}
