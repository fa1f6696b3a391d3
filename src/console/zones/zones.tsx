import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Collection, type Columns, type Filter } from '../parts/collection.tsx';
import { Tick } from '../parts/inputs.tsx';
import { CreateResource } from '../parts/resource-forms.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import type { Zone } from '../resources.ts';
import { open, pageOf, query, setQuery, type ScreenProps } from '../router.ts';
import { may, seesAllProjects, session } from '../session.ts';
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

const COLUMNS: Columns<Zone> = [
  ['name', 32],
  ['pool_id', 18],
  ['status', 13],
  ['serial', 15],
  ['created_at', 12],
];

const COLUMNS_OF_ALL = COLUMNS.toSpliced(1, 0, ['project_id', 18]);

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
      columns={isAll ? COLUMNS_OF_ALL : COLUMNS}
      filters={may('zones:outside_tlds') ? FILTERS : undefined}
      form={LIST}
      always={isAll ? { all_projects: 'true' } : undefined}
      actions={
        <>
          {maySeeAll ? (
            <Tick isOn={isAll} set={(isOn) => setQuery({ all: isOn ? '1' : '' })}>
              All projects
            </Tick>
          ) : null}
          {may('zones:create') ? (
            <Button onClick={() => setChecking(true)}>Is this name allowed?</Button>
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
          values={{ pool_id: DEFAULT_POOL }}
          closed={{ heading: 'More', names: ['masters', 'ttl', 'description', 'attributes'] }}
          onClose={close}
          onCreated={({ id }) => open(pageOf('zones', id))}
        />
      )}
    />
  );
}
