import { Collection, type Columns } from '../parts/collection.tsx';
import { CreateResource } from '../parts/resource-forms.tsx';
import { visible } from '../parts/text.tsx';
import type { Pool } from '../resources.ts';
import { open, pageOf, type ScreenProps } from '../router.ts';
import { FORM, PoolPage } from './pool-page.tsx';

const COLUMNS: Columns<Pool> = [
  ['name', 26],
  {
    label: 'NS records',
    width: 32,
    cell: ({ ns_records: records }) => (
      <bdi class="cell">{visible(records.map(({ hostname }) => hostname).join(', ') || '–')}</bdi>
    ),
  },
  ['description', 28],
  ['created_at', 14],
];

export function Pools({ path: [id] }: ScreenProps) {
  if (id !== undefined) return <PoolPage key={id} id={id} />;
  return (
    <Collection<Pool>
      collection="pools"
      columns={COLUMNS}
      empty={<p class="muted">A pool is a set of name servers that serve the same zones.</p>}
      creation={(close) => (
        <CreateResource
          {...FORM}
          closed={{ heading: 'More', names: ['project_id', 'attributes'] }}
          onClose={close}
          onCreated={(created) => open(pageOf('pools', created.id))}
        />
      )}
    />
  );
}
