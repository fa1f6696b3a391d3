import { Collection } from '../parts/collection.tsx';
import { CreateResource } from '../parts/resource-forms.tsx';
import { nameColumn, type Column } from '../parts/table.tsx';
import { Ago, visible } from '../parts/text.tsx';
import type { Pool } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import type { ScreenProps } from '../shell/screen-props.ts';
import { FORM, PoolPage } from './pool-page.tsx';

const COLUMNS: readonly Column<Pool>[] = [
  nameColumn('pools', 26),
  {
    label: 'NS records',
    width: 32,
    cell: ({ ns_records: records }) => (
      <bdi class="mono">{visible(records.map(({ hostname }) => hostname).join(', ') || '–')}</bdi>
    ),
  },
  {
    label: 'Description',
    width: 28,
    cell: ({ description }) => <bdi>{visible(description ?? '')}</bdi>,
  },
  {
    label: 'Created',
    width: 14,
    sort: 'created_at',
    cell: ({ created_at: at }) => <Ago at={at} />,
  },
];

export function Pools({ path: [id] }: ScreenProps) {
  if (id !== undefined) return <PoolPage key={id} id={id} />;
  return (
    <Collection<Pool>
      collection="pools"
      title="Pools"
      columns={COLUMNS}
      create="New pool"
      empty={<p class="muted">A pool is a set of name servers that serve the same zones.</p>}
      creation={(close) => (
        <CreateResource
          {...FORM}
          title="New pool"
          action="Create pool"
          closed={{ heading: 'More', names: ['project_id', 'attributes'] }}
          onClose={close}
          onCreated={(created) => open(pageOf('pools', created.id))}
        />
      )}
    />
  );
}
