import { Collection } from '../parts/collection.tsx';
import type { Column } from '../parts/table.tsx';
import { Ago, Name, visible } from '../parts/text.tsx';
import type { Pool } from '../resources.ts';
import { pageOf } from '../router.ts';
import { CreatePool } from './pool-forms.tsx';

const COLUMNS: readonly Column<Pool>[] = [
  {
    label: 'Name',
    width: 26,
    sort: 'name',
    cell: ({ id, name }) => (
      <a class="main-link cell" href={pageOf('pools', id)}>
        <Name text={name} />
      </a>
    ),
  },
  {
    label: 'NS records',
    width: 32,
    cell: ({ ns_records: records }) =>
      records.length === 0 ? (
        <span class="muted">–</span>
      ) : (
        <bdi class="cell mono">{visible(records.map(({ hostname }) => hostname).join(', '))}</bdi>
      ),
  },
  {
    label: 'Description',
    width: 28,
    cell: ({ description }) => <bdi class="cell">{visible(description ?? '')}</bdi>,
  },
  {
    label: 'Created',
    width: 14,
    sort: 'created_at',
    cell: ({ created_at: at }) => <Ago at={at} />,
  },
];

export function PoolList() {
  return (
    <Collection<Pool>
      collection="pools"
      title="Pools"
      columns={COLUMNS}
      create="New pool"
      empty={<p class="muted">A pool is a set of name servers that serve the same zones.</p>}
      creation={(close) => <CreatePool onClose={close} />}
    />
  );
}
