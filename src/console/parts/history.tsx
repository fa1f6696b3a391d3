import { useLive } from '../live.ts';
import type { AuditRecord } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import { State } from './states.tsx';
import { Ago, Name, visible } from './text.tsx';

const SHOWN = 5;

const VERBS: Readonly<Record<string, string>> = {
  create: 'created it',
  update: 'changed it',
  delete: 'deleted it',
  export: 'exported it',
  reveal: 'saw the secret',
  get: 'read it',
  list: 'read the list',
  deliver: 'delivered it',
  remove: 'removed it from a name server',
  resume: 'resumed the delivery',
  desired: 'read the keys of a name server',
  observe: 'reported the keys of a name server',
  rotate: 'started a rotation',
  retire: 'retired it',
  confirm: 'confirmed its clients',
  abort: 'cancelled the rotation',
  restore: 'restored it',
  import: 'imported it',
  grant: 'changed what it opens',
  release: 'gave its keys back',
  'remove-key': 'removed an unknown key',
};

const ACTIONS: Readonly<Record<string, string>> = {
  'tsigkeys:get': 'read the secret',
  'tsigkeys:list': 'read secrets in a list',
  'sessions:create': 'signed in',
  'sessions:delete': 'ended the session',
  'sessions:code': 'made a link to sign in',
  'tsigkey.rotation.started': 'started a rotation',
  'tsigkey.rotation.waiting': 'noted what the rotation waits for',
  'tsigkey.rotation.verified': 'verified it on all name servers',
  'tsigkey.rotation.retired': 'retired it',
  'tsigkey.rotation.expiring': 'noticed that it expires',
  'tsigkey.rotation.used_after_retirement': 'saw its use after its end',
};

/** Returns what a record says, as a person says it. */
export function verbOf(action: string): string {
  const [, verb = action] = action.split(':');
  return ACTIONS[action] ?? VERBS[verb] ?? visible(action);
}

/** The last entries of the audit trail about a resource, for callers that may see them. */
export function History({ collection, id }: { collection: string; id: string }) {
  const isAllowed = may('audit:list');
  const live = useLive<{ records: AuditRecord[] }>(
    isAllowed
      ? `v2/audit?resource_type=${collection}&resource_id=${encodeURIComponent(id)}&limit=${SHOWN}`
      : undefined,
  );
  if (!isAllowed) return null;
  const records = live.data?.records ?? [];
  return (
    <section class="panel" aria-label="History">
      <div class="row between">
        <h2>History</h2>
        <a class="small" href={`${pageOf('audit')}?resource_type=${collection}&resource_id=${id}`}>
          All in audit
        </a>
      </div>
      {live.data !== undefined && records.length === 0 ? (
        <p class="muted">No entry in the audit trail.</p>
      ) : null}
      {live.error === undefined ? null : <p class="muted">{live.error.message}</p>}
      <ol class="timeline">
        {records.map(({ seq, at, actor_name: actor, action, outcome }) => (
          <li key={seq}>
            <span>
              <Name text={actor} /> {verbOf(action)}{' '}
              {outcome === 'success' ? null : <State state={outcome} />}
            </span>
            <span class="muted">
              <Ago at={at} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
