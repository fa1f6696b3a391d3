import { useLive } from '../live.ts';
import type { AuditRecord } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import { Lines } from './lines.tsx';
import { Section } from './page.tsx';
import { Ago, Name, visible } from './text.tsx';

/** The last entries of the audit trail about a resource, for callers that may see them. */
export function History({ collection, id }: { collection: string; id: string }) {
  const filter = `resource_type=${collection}&resource_id=${encodeURIComponent(id)}`;
  const isAllowed = may('audit:list');
  const path = isAllowed ? `v2/audit?${filter}&limit=5` : undefined;
  const live = useLive<{ records: AuditRecord[] }>(path);
  if (!isAllowed) return null;
  return (
    <Section title="History" live={live}>
      {({ records }) => (
        <Records
          records={records.map((record) => ({ ...record, resource_name: null }))}
          filter={filter}
        />
      )}
    </Section>
  );
}

type Shown = Pick<AuditRecord, 'at' | 'actor_name' | 'action' | 'resource_name'> & {
  readonly outcome?: string;
};

/** Entries of the audit trail, and the way to all of them. */
export function Records(props: { records: readonly Shown[]; filter?: string }) {
  const { records, filter } = props;
  return (
    <>
      <Lines
        lines={records.map(({ at, actor_name: actor, action, resource_name: name, outcome }) => ({
          key: `${at} ${action}`,
          state: outcome ?? 'success',
          text: (
            <>
              <Name text={actor} /> {visible(action)} {name === null ? null : <Name text={name} />}
            </>
          ),
          detail: <Ago at={at} />,
        }))}
      />
      <a href={pageOf('audit') + (filter === undefined ? '' : `?${filter}`)}>All in audit</a>
    </>
  );
}
