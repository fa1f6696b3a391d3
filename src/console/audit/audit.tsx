import { useMemo } from 'preact/hooks';
import { verbOf } from '../parts/history.tsx';
import { PageHead, useTitle } from '../parts/page.tsx';
import { State } from '../parts/states.tsx';
import { List, type Column } from '../parts/table.tsx';
import { Name, visible } from '../parts/text.tsx';
import type { AuditRecord } from '../resources.ts';
import { pageOf, query, setQuery } from '../router.ts';
import { useRows } from '../rows.ts';
import { definitionOf } from '../session.ts';
import { AuditFilters, requestOf } from './filters.tsx';
import { changesOf, RecordDialog, Subject, subjectOf } from './record.tsx';

type Row = AuditRecord & { readonly id: string };

/** Returns what a record says, before the name of what it is about. */
function beginningOf(action: string): string {
  const verb = verbOf(action);
  return verb.endsWith(' it') ? verb.slice(0, -' it'.length) : `${verb} ·`;
}

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
      cell: ({ seq, at }) => (
        <a class="main-link cell" href={withFilter('record', String(seq))}>
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
          {record.outcome === 'success' ? null : (
            <>
              <State state={record.outcome} />{' '}
            </>
          )}
          {beginningOf(record.action)}{' '}
          {subjectOf(record) === undefined ? null : (
            <>
              <span class="muted">{definitionOf(record.resource_type ?? '')?.singular} </span>
              <Subject record={record} />
            </>
          )}
        </span>
      ),
    },
    {
      label: 'Change',
      width: 24,
      cell: (record) => {
        const text = changesOf(record)
          .map(({ name, before, after }) => `${name} ${before} → ${after}`)
          .join(', ');
        return (
          <bdi class="cell muted" title={text === '' ? undefined : visible(text)}>
            {visible(text)}
          </bdi>
        );
      },
    },
    {
      label: 'From',
      width: 13,
      cell: ({ source }) => <bdi class="mono cell muted">{visible(source ?? '–')}</bdi>,
    },
  ];
}

const LIST = {
  member: 'records',
  complete: async (rows: readonly Row[]) => rows.map((row) => ({ ...row, id: String(row.seq) })),
};

/** Who did what, when: the audit trail, the newest first. */
export function Audit() {
  useTitle('Audit');
  const parameters = query.value;
  const filters = new URLSearchParams([...parameters].filter(([name]) => name !== 'record'));
  const present = filters.toString();
  const path = useMemo(() => requestOf(filters).toString(), [present]);
  const columns = useMemo(() => columnsOf(present), [present]);
  const list = useRows<Row>('audit', `v2/audit?${path}`, LIST);
  const shown = list.rows.find(({ id }) => id === parameters.get('record'));
  const isFiltered = path !== '';
  return (
    <>
      <PageHead title="Audit" />
      <AuditFilters />
      <List
        label="Audit trail"
        list={list}
        words={['record', 'records']}
        columns={columns}
        empty={
          isFiltered ? (
            <>
              <h2>No record matches</h2>
              <button
                type="button"
                class="button"
                onClick={() =>
                  setQuery(Object.fromEntries([...parameters.keys()].map((name) => [name, ''])))
                }
              >
                Clear filters
              </button>
            </>
          ) : (
            <>
              <h2>No record yet</h2>
              <p class="muted">Every change and every read of a secret appears here.</p>
            </>
          )
        }
      />
      {shown === undefined ? null : (
        <RecordDialog record={shown} onClose={() => setQuery({ record: '' })} />
      )}
    </>
  );
}
