import { CloseAction, Dialog } from '../parts/dialog.tsx';
import { Terms } from '../parts/facts.tsx';
import { State } from '../parts/states.tsx';
import { Grid } from '../parts/grid.tsx';
import { Link, Name, PAGES, visible } from '../parts/text.tsx';
import type { AuditRecord } from '../resources.ts';
import { pageOf } from '../router.ts';

/** What a record is about, as a link to its page if it has one. */
export function Subject({ record }: { record: AuditRecord }) {
  const { resource_type: type, resource_id: id, resource_name: given } = record;
  const name = given ?? id;
  if (name === null) return <span class="muted">–</span>;
  return id === null ? <Name text={name} /> : <Link page={PAGES[type ?? '']} id={id} name={name} />;
}

type Change = readonly [name: string, before: string, after: string];

function shown(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none';
  return visible(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Returns the members that a record says were changed. */
export function changesOf({ detail: { changes } }: AuditRecord): readonly Change[] {
  if (typeof changes !== 'object' || changes === null) return [];
  return Object.entries(changes).flatMap(([name, pair]): Change[] =>
    Array.isArray(pair) && pair.length === 2 ? [[name, shown(pair[0]), shown(pair[1])]] : [],
  );
}

/** Everything that a record says. */
export function RecordDialog({ record, onClose }: { record: AuditRecord; onClose(): void }) {
  const { seq, at, actor_kind: kind, actor_id: actor, actor_name: name, batch, detail } = record;
  const changes = changesOf(record);
  const further = Object.entries(detail).filter(
    ([member]) => member !== 'changes' || changes.length === 0,
  );
  const { request_id: request } = record;
  return (
    <Dialog title={<code>{visible(record.action)}</code>} size="wide" onClose={onClose}>
      <Terms
        rows={[
          ['Time', `${at.replace('T', ' ')} UTC`],
          ['Who', <Link page={kind === 'token' ? 'tokens' : undefined} id={actor} name={name} />],
          ['From', <bdi>{visible(record.source ?? '–')}</bdi>],
          ['Resource', <Subject record={record} />],
          ['Outcome', <State state={record.outcome} />],
          [
            'Request',
            request && (
              <a class="mono" href={`${pageOf('audit')}?request_id=${encodeURIComponent(request)}`}>
                {visible(request)}
              </a>
            ),
          ],
          ['Sealed', batch === null ? 'not yet' : `in batch ${batch}, as record ${seq}`],
          ...further.map(
            ([member, value]) => [visible(member), <bdi>{shown(value)}</bdi>] as const,
          ),
        ]}
      />
      {changes.length === 0 ? null : (
        <Grid label="Changes" heads={['Changed', 'Before', 'After']} rows={changes} />
      )}
      <CloseAction onClose={onClose} />
    </Dialog>
  );
}
