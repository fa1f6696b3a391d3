import { Collection, type Columns, type Filter } from '../parts/collection.tsx';
import { CreateResource } from '../parts/resource-forms.tsx';
import { State } from '../parts/states.tsx';
import type { Named } from '../parts/text.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import { get, type RequestOptions } from '../requests.ts';
import type { Key, KeyState } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import { may } from '../session.ts';

export const FORM = {
  collection: 'tsigkeys',
  order: ['name', 'algorithm', 'scope', 'resource_id'],
  words: { resource_id: { description: 'The pool or zone in which the key opens something.' } },
  closed: { heading: 'Use an existing secret', names: ['secret'] },
};

const FILTERS: readonly Filter[] = [
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

/** Reads where keys are, and what is wrong with them. */
export async function readStates(
  ids: readonly string[],
  options: RequestOptions,
): Promise<readonly KeyState[]> {
  const body = { ids: ids.slice(0, MOST) };
  const sent = { ...options, method: 'POST', body };
  return (await get<{ states: KeyState[] }>('v2/tsigkeys/states', sent)).states;
}

export function isMoving(state: string | undefined): boolean {
  return ['pending', 'removing', 'spreading'].includes(state ?? '');
}

/** Adds to keys where they are. */
export async function withStates<T extends Named>(
  keys: readonly T[],
  options: RequestOptions,
): Promise<readonly (T & { readonly state?: string })[]> {
  if (keys.length === 0) return [];
  const ids = keys.map(({ id }) => id);
  const known = new Map((await readStates(ids, options)).map(({ id, state }) => [id, { state }]));
  return keys.map((key) => ({ ...key, ...known.get(key.id) }));
}

const LIST = {
  complete: withStates<Row>,
  isPending: ({ state }: Row) => isMoving(state),
};

const COLUMNS: Columns<Row> = [
  ['name', 34],
  ['algorithm', 17],
  ['resource_id', 24],
  {
    label: 'Delivery',
    width: 13,
    cell: ({ state }) => (state === undefined ? null : <State state={state} />),
  },
  ['created_at', 12],
];

export function KeyList() {
  return (
    <Collection<Row>
      collection="tsigkeys"
      columns={COLUMNS}
      filters={FILTERS}
      actions={
        may('tsigkeys:create') ? (
          <a class="button" href={pageOf('keys', 'import')}>
            Import keys
          </a>
        ) : null
      }
      empty={
        <p class="muted">
          A key lets a secondary transfer zones, or a client update records. Create one and install
          it on both sides, or import those of a name server; Tsigil delivers them to the name
          servers of their pool.
        </p>
      }
      creation={(close) => (
        <CreateResource
          {...FORM}
          values={{ algorithm: 'hmac-sha256', scope: 'POOL', resource_id: DEFAULT_POOL }}
          onClose={close}
          onCreated={({ id }) => open(`${pageOf('keys', id)}?created=1`)}
        />
      )}
      form={LIST}
    />
  );
}
