import { CloseAction, Dialog } from '../parts/dialog.tsx';
import { State } from '../parts/states.tsx';
import { Terms } from '../parts/terms.tsx';
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
  const { changes } = detail;
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
  const further = Object.entries(record.detail).filter(
    ([member]) => member !== 'changes' || changes.length === 0,
  );
  const hasToken = kind === 'token' && actor !== 'configured' && may('tokens:get');
  const time = (
    <>
      {at.replace('T', ' ')} UTC{' '}
      <span class="muted">
        <Ago at={at} />
      </span>
    </>
  );
  const named = <Name text={name} />;
  const who = (
    <>
      {hasToken ? <a href={pageOf('tokens', actor)}>{named}</a> : named}{' '}
      <span class="muted">{kind}</span>
    </>
  );
  const resource = (
    <>
      <Subject record={record} /> <span class="muted">{record.resource_type}</span>
    </>
  );
  const { request_id: id } = record;
  const request =
    id === null ? undefined : (
      <a class="mono" href={`${pageOf('audit')}?request_id=${encodeURIComponent(id)}`}>
        {visible(id)}
      </a>
    );
  return (
    <Dialog title={<code>{visible(record.action)}</code>} size="wide" onClose={onClose}>
      <div class="dialog-body">
        <Terms
          rows={[
            ['Time', time],
            ['Who', who],
            ['From', <bdi class="mono">{visible(source ?? '–')}</bdi>],
            ['Resource', resource],
            ['Outcome', <State state={record.outcome} />],
            ['Request', request ?? <span class="muted">none, or several</span>],
            ['Sealed', batch === null ? 'not yet' : `in batch ${batch}, as record ${record.seq}`],
          ]}
        />
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
