import { useState } from 'preact/hooks';
import { Collection, type Filter } from '../parts/collection.tsx';
import { CreateResource } from '../parts/resource-forms.tsx';
import { State } from '../parts/states.tsx';
import { nameColumn, type Column } from '../parts/table.tsx';
import { Ago, Reference, visible } from '../parts/text.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import type { Zone } from '../resources.ts';
import { open, pageOf, query, setQuery } from '../router.ts';
import { may, seesAllProjects, session } from '../session.ts';
import type { ScreenProps } from '../shell/screen-props.ts';
import { NameCheck } from './name-check.tsx';
import { FORM, ZonePage } from './zone-page.tsx';

const FILTERS: readonly Filter[] = [
  {
    parameter: 'outside_tlds',
    label: 'Show',
    choices: [
      ['', 'All zones'],
      ['true', 'Outside the top-level domains'],
    ],
  },
];

const COLUMNS: readonly Column<Zone>[] = [
  nameColumn('zones', 32),
  {
    label: 'Pool',
    width: 18,
    cell: ({ pool_id: id }) => <Reference collection="pools" id={id} />,
  },
  { label: 'Status', width: 13, cell: ({ status }) => <State state={status} /> },
  {
    label: 'Serial',
    width: 15,
    sort: 'serial',
    cell: ({ serial }) => <code>{serial}</code>,
  },
  {
    label: 'Created',
    width: 12,
    sort: 'created_at',
    cell: ({ created_at: at }) => <Ago at={at} />,
  },
];

const COLUMNS_OF_ALL = COLUMNS.toSpliced(1, 0, {
  label: 'Project',
  width: 18,
  cell: ({ project_id: id }) => <bdi class="cell">{visible(id)}</bdi>,
});

const LIST = { isPending: ({ status }: Zone) => status === 'PENDING' };

export function Zones({ path: [id] }: ScreenProps) {
  return id === undefined ? <ZoneList /> : <ZonePage key={id} id={id} />;
}

function ZoneList() {
  const [isChecking, setChecking] = useState(false);
  const maySeeAll = seesAllProjects();
  const isAll = maySeeAll && query.value.has('all');
  return (
    <Collection<Zone>
      collection="zones"
      title={isAll ? 'Zones of all projects' : 'Zones'}
      columns={isAll ? COLUMNS_OF_ALL : COLUMNS}
      filters={may('zones:outside_tlds') ? FILTERS : undefined}
      form={LIST}
      always={isAll ? { all_projects: 'true' } : undefined}
      create="New zone"
      actions={
        <>
          {maySeeAll ? (
            <label class="option">
              <input
                type="checkbox"
                checked={isAll}
                onChange={({ currentTarget: { checked } }) => setQuery({ all: checked ? '1' : '' })}
              />
              All projects
            </label>
          ) : null}
          {may('zones:create') ? (
            <button type="button" class="button" onClick={() => setChecking(true)}>
              Is this name allowed?
            </button>
          ) : null}
          {isChecking ? <NameCheck onClose={() => setChecking(false)} /> : null}
        </>
      }
      empty={
        <p class="muted">
          {session.value?.caller.project_id === null
            ? 'Your token belongs to no project, so it has no zones of its own.'
            : 'A zone is what a name server serves. Keys of its pool open it, or a key of its own.'}
        </p>
      }
      creation={(close) => (
        <CreateResource
          {...FORM}
          title="New zone"
          action="Create zone"
          values={{ pool_id: DEFAULT_POOL }}
          closed={{ heading: 'More', names: ['masters', 'ttl', 'description', 'attributes'] }}
          onClose={close}
          onCreated={({ id }) => open(pageOf('zones', id))}
        />
      )}
    />
  );
}
