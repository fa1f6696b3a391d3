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
        <>
          <Lines
            lines={records.map(({ seq, at, actor_name: actor, action, outcome }) => ({
              key: String(seq),
              state: outcome,
              text: (
                <>
                  <Name text={actor} /> {visible(action)}
                </>
              ),
              detail: <Ago at={at} />,
            }))}
          />
          <a href={`${pageOf('audit')}?${filter}`}>All in audit</a>
        </>
      )}
    </Section>
  );
}
