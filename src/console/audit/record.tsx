import { CloseAction, Dialog } from '../parts/dialog.tsx';
import { State } from '../parts/states.tsx';
import { Ago, Name, PAGES, visible } from '../parts/text.tsx';
import type { AuditRecord } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';

type Subjected = Pick<AuditRecord, 'resource_type' | 'resource_id' | 'resource_name'>;

/** Returns the name, or else the id, of what a record is about. */
export function subjectOf({ resource_name: name, resource_id: id }: Subjected): string | undefined {
  return name ?? id ?? undefined;
}

/** What a record is about, as a link to its page if it has one. */
export function Subject({ record }: { record: Subjected }) {
  const { resource_type: type, resource_id: id } = record;
  const text = subjectOf(record);
  const page = PAGES[type ?? ''];
  if (text === undefined) return <span class="muted">–</span>;
  if (page === undefined || id === null || !may(`${type ?? ''}:get`)) return <Name text={text} />;
  return (
    <a href={pageOf(page, id)}>
      <Name text={text} />
    </a>
  );
}

interface Change {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

function shown(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the members that a record says were changed. */
export function changesOf({ detail }: Pick<AuditRecord, 'detail'>): readonly Change[] {
  const changes = detail?.changes;
  if (typeof changes !== 'object' || changes === null) return [];
  return Object.entries(changes).flatMap(([name, pair]): Change[] =>
    Array.isArray(pair) && pair.length === 2
      ? [{ name, before: shown(pair[0]), after: shown(pair[1]) }]
      : [],
  );
}

/** Everything that a record says. */
export function RecordDialog({ record, onClose }: { record: AuditRecord; onClose(): void }) {
  const { at, actor_kind: kind, actor_id: actor, actor_name: name, source, batch } = record;
  const changes = changesOf(record);
  const further = Object.entries(record.detail ?? {}).filter(
    ([member]) => member !== 'changes' || changes.length === 0,
  );
  const hasToken = kind === 'token' && actor !== 'configured' && may('tokens:get');
  return (
    <Dialog title={<code>{visible(record.action)}</code>} size="wide" onClose={onClose}>
      <div class="dialog-body">
        <dl class="facts">
          <dt>Time</dt>
          <dd>
            {at.replace('T', ' ')} UTC{' '}
            <span class="muted">
              <Ago at={at} />
            </span>
          </dd>
          <dt>Who</dt>
          <dd>
            {hasToken ? (
              <a href={pageOf('tokens', actor)}>
                <Name text={name} />
              </a>
            ) : (
              <Name text={name} />
            )}{' '}
            <span class="muted">{kind}</span>
          </dd>
          <dt>From</dt>
          <dd>
            <bdi class="mono">{visible(source ?? '–')}</bdi>
          </dd>
          <dt>Resource</dt>
          <dd>
            <Subject record={record} /> <span class="muted">{record.resource_type}</span>
          </dd>
          <dt>Outcome</dt>
          <dd>
            <State state={record.outcome} />
          </dd>
          <dt>Request</dt>
          <dd>
            {record.request_id === null ? (
              <span class="muted">none, or several</span>
            ) : (
              <a
                class="mono"
                href={`${pageOf('audit')}?request_id=${encodeURIComponent(record.request_id)}`}
              >
                {visible(record.request_id)}
              </a>
            )}
          </dd>
          <dt>Sealed</dt>
          <dd>
            {batch === null ? (
              <span class="muted">not yet</span>
            ) : (
              `in batch ${batch.toLocaleString('en')}, as record ${record.seq.toLocaleString('en')}`
            )}
          </dd>
        </dl>
        {changes.length === 0 ? null : (
          <div class="table">
            <table class="wrap">
              <thead>
                <tr>
                  <th scope="col">Changed</th>
                  <th scope="col">Before</th>
                  <th scope="col">After</th>
                </tr>
              </thead>
              <tbody>
                {changes.map(({ name: member, before, after }) => (
                  <tr key={member}>
                    <td>{visible(member)}</td>
                    <td>
                      <bdi class="mono">{visible(before)}</bdi>
                    </td>
                    <td>
                      <bdi class="mono">{visible(after)}</bdi>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {further.length === 0 ? null : (
          <div class="code">
            <pre tabIndex={0} aria-label="Details">
              {further
                .map(([member, value]) => `${member}: ${shown(value)}`)
                .map(visible)
                .join('\n')}
            </pre>
          </div>
        )}
        <CloseAction onClose={onClose} />
      </div>
    </Dialog>
  );
}
