import { useMemo } from 'preact/hooks';
import { NoMatch } from '../parts/collection.tsx';
import { PageHead } from '../parts/page.tsx';
import { State } from '../parts/states.tsx';
import { List, type Column } from '../parts/table.tsx';
import { Name, visible } from '../parts/text.tsx';
import type { AuditRecord } from '../resources.ts';
import { pageOf, query, setQuery } from '../router.ts';
import { useRows } from '../rows.ts';
import { AuditFilters, requestOf } from './filters.tsx';
import { changesOf, RecordDialog, Subject } from './record.tsx';

type Row = AuditRecord & { readonly id: string };

/** The columns, whose links keep the present filters. */
function columnsOf(present: string): readonly Column<Row>[] {
  const withFilter = (name: string, value: string) => {
    const next = new URLSearchParams(present);
    next.set(name, value);
    return `${pageOf('audit')}?${next.toString()}`;
  };
  return [
    {
      label: 'Time (UTC)',
      width: 17,
      cell: ({ id, at }) => (
        <a class="main-link cell" href={withFilter('record', id)}>
          <time dateTime={`${at}Z`}>{at.slice(0, 19).replace('T', ' ')}</time>
        </a>
      ),
    },
    {
      label: 'Who',
      width: 13,
      cell: ({ actor_name: name }) => (
        <a class="cell" href={withFilter('actor', name)}>
          <Name text={name} />
        </a>
      ),
    },
    {
      label: 'What',
      width: 33,
      cell: (record) => (
        <span class="cell">
          {record.outcome === 'success' ? null : <State state={record.outcome} />}{' '}
          {visible(record.action)} <Subject record={record} />
        </span>
      ),
    },
    {
      label: 'Change',
      width: 24,
      cell: (record) => (
        <bdi class="cell muted">
          {changesOf(record)
            .map(([name, before, after]) => `${visible(name)} ${before} → ${after}`)
            .join(', ')}
        </bdi>
      ),
    },
    {
      label: 'From',
      width: 13,
      cell: ({ source }) => <bdi class="cell muted">{visible(source ?? '–')}</bdi>,
    },
  ];
}

const LIST = {
  member: 'records',
  complete: async (rows: readonly Row[]) => rows.map((row) => ({ ...row, id: String(row.seq) })),
};

/** Who did what, when: the audit trail, the newest first. */
export function Audit() {
  const parameters = query.value;
  const filters = new URLSearchParams([...parameters].filter(([name]) => name !== 'record'));
  const present = filters.toString();
  const path = useMemo(() => requestOf(filters), [present]);
  const columns = useMemo(() => columnsOf(present), [present]);
  const list = useRows<Row>('audit', `v2/audit?${path}`, LIST);
  const shown = list.rows.find(({ id }) => id === parameters.get('record'));
  return (
    <>
      <PageHead title="Audit" />
      <AuditFilters />
      <List
        label="Audit trail"
        list={list}
        word="record"
        columns={columns}
        empty={
          path === '' ? (
            <h2>No record yet</h2>
          ) : (
            <NoMatch singular="record" active={[...filters.keys()]} />
          )
        }
      />
      {shown === undefined ? null : (
        <RecordDialog record={shown} onClose={() => setQuery({ record: '' })} />
      )}
    </>
  );
}
