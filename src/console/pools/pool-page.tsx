import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { KeysLine } from '../nameservers/keys-line.tsx';
import { forgetName } from '../names.ts';
import { ConfirmDeletion } from '../parts/dialog.tsx';
import { FurtherFacts, IdFact } from '../parts/fields.tsx';
import { History } from '../parts/history.tsx';
import { Denied, NotLive } from '../parts/notices.tsx';
import { PageHead, reading, Section, useTitle } from '../parts/page.tsx';
import { State } from '../parts/states.tsx';
import { Ago, count, Links, Name, type Named, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { get, request } from '../requests.ts';
import type { NameServer, Pool } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import { may, seesAllProjects } from '../session.ts';
import { DEFAULT_POOL } from './default-pool.ts';
import { EditPool } from './pool-forms.tsx';

const SHOWN = 10;

interface Found<T extends Named> {
  readonly total: number | undefined;
  readonly first: readonly T[];
}

/** Reads the first resources of a pool, and how many there are. */
function useOfPool<T extends Named>(collection: string, filter: string | undefined, headers = {}) {
  const isAllowed = may(`${collection}:list`);
  return useLive<Found<T>>(
    isAllowed && filter !== undefined
      ? `v2/${collection}?${filter}&limit=${SHOWN}&sort_key=name`
      : undefined,
    () => false,
    async (path, isBackground, signal) => {
      const page = await get<
        Readonly<Record<string, readonly T[]>> & {
          readonly metadata?: { readonly total_count?: number };
          readonly links?: { readonly next?: string };
        }
      >(path, { isBackground, signal, headers });
      const first = page[collection] ?? [];
      const isWhole = page.links?.next === undefined;
      return { first, total: page.metadata?.total_count ?? (isWhole ? first.length : undefined) };
    },
  );
}

function totalText({ total, first }: Found<Named>, word: string): string {
  return total === undefined ? `${first.length} ${word}s and more` : count(total, word);
}

/** A pool: its name servers, its keys and its zones. */
export function PoolPage({ id }: { id: string }) {
  const live = useLive<Pool>(`v2/pools/${id}`);
  const servers = useOfPool<NameServer>('nameservers', `pool_id=${id}`);
  const keys = useOfPool<Named>('tsigkeys', `scope=POOL&resource_id=${id}`);
  const headers = seesAllProjects() ? { 'X-Auth-All-Projects': 'true' } : {};
  const zones = useOfPool<Named>(
    'zones',
    live.data && `pool=${encodeURIComponent(live.data.name)}`,
    headers,
  );
  const [layer, setLayer] = useState<'edit' | 'delete'>();
  const { data: pool } = live;
  useTitle(pool === undefined ? 'Pool' : visible(pool.name));
  const crumb = { label: 'Pools', href: pageOf('pools') };
  if (pool === undefined) return reading({ title: 'Pool', crumb, live, what: 'the pool' });
  const close = () => setLayer(undefined);
  return (
    <>
      <PageHead title={<Name text={pool.name} isWhole />} crumb={crumb}>
        {may('pools:update') ? (
          <button type="button" class="button" onClick={() => setLayer('edit')}>
            Edit
          </button>
        ) : (
          <Denied right="pools:update" what="Changing a pool" />
        )}
        {may('pools:delete') && id !== DEFAULT_POOL ? (
          <button type="button" class="button" onClick={() => setLayer('delete')}>
            Delete…
          </button>
        ) : null}
      </PageHead>
      <div class="stack">
        <NotLive error={live.error} asOf={live.asOf} reload={live.reload} />
        <Facts pool={pool} />
        <div class="columns">
          <div class="stack">
            {may('nameservers:list') ? (
              <Section title="Name servers" live={servers}>
                {({ first }) => <Servers servers={first} />}
              </Section>
            ) : null}
            <History collection="pools" id={id} />
          </div>
          <div class="stack">
            {may('tsigkeys:list') ? (
              <Section title="Keys" live={keys}>
                {(found) => (
                  <Some found={found} word="key" page="keys">
                    No key opens the whole pool yet.
                  </Some>
                )}
              </Section>
            ) : null}
            {may('zones:list') ? (
              <Section title="Zones" live={zones}>
                {(found) => (
                  <Some found={found} word="zone" page="zones">
                    No zone that you can see.
                  </Some>
                )}
              </Section>
            ) : null}
          </div>
        </div>
      </div>
      {layer === 'edit' ? (
        <EditPool
          pool={pool}
          onClose={close}
          onSaved={() => {
            close();
            forgetName('pools', id);
            showToast('Pool changed');
            live.reload();
          }}
        />
      ) : layer === 'delete' ? (
        <DeletePool
          pool={pool}
          servers={servers.data}
          keys={keys.data}
          zones={zones.data}
          onClose={close}
        />
      ) : null}
    </>
  );
}

function Facts({ pool }: { pool: Pool }) {
  const { ns_records: records } = pool;
  return (
    <section class="panel" aria-label="The pool">
      <dl class="facts">
        <dt>NS records</dt>
        <dd>
          {records.length === 0 ? (
            <span class="muted">None</span>
          ) : (
            <ul>
              {records.map(({ priority, hostname }) => (
                <li key={`${priority} ${hostname}`}>
                  <bdi class="mono">{visible(hostname)}</bdi>{' '}
                  <span class="muted">priority {priority}</span>
                </li>
              ))}
            </ul>
          )}
        </dd>
        <FurtherFacts
          collection="pools"
          resource={pool}
          shown={['id', 'name', 'ns_records', 'created_at', 'updated_at']}
        />
        <dt>Created</dt>
        <dd>
          <Ago at={pool.created_at} />
        </dd>
        <IdFact id={pool.id} />
      </dl>
    </section>
  );
}

function Servers({ servers }: { servers: readonly NameServer[] }) {
  if (servers.length === 0)
    return (
      <p class="muted">
        None, so its keys are stored here and delivered nowhere.{' '}
        {may('nameservers:create') ? (
          <a href={pageOf('nameservers', 'new')}>Add a name server</a>
        ) : null}
      </p>
    );
  return (
    <ul class="needs">
      {servers.map((server) => (
        <li class="need" key={server.id}>
          <State state={server.state} words=" " />
          <span>
            <a href={pageOf('nameservers', server.id)}>
              <Name text={server.name} />
            </a>{' '}
            <span class="muted">{server.state}</span>
          </span>
          <span class="detail">
            <KeysLine server={server} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Some(props: { found: Found<Named>; word: string; page: string; children: string }) {
  const { found, word, page, children } = props;
  const { first, total } = found;
  if (first.length === 0) return <p class="muted">{children}</p>;
  return (
    <>
      <p>{totalText(found, word)}</p>
      <Links
        page={page}
        rows={first}
        more={total === undefined ? undefined : total - first.length}
      />
    </>
  );
}

/** Deletes a pool, after it said what breaks or what is in the way. */
function DeletePool(props: {
  pool: Pool;
  servers: Found<Named> | undefined;
  keys: Found<Named> | undefined;
  zones: Found<Named> | undefined;
  onClose(): void;
}) {
  const { pool, servers, keys, zones, onClose } = props;
  const has = (found: Found<Named> | undefined): found is Found<Named> =>
    (found?.first.length ?? 0) > 0;
  const inTheWay = [
    ...(has(servers) ? [totalText(servers, 'name server')] : []),
    ...(has(zones) ? [totalText(zones, 'zone')] : []),
  ];
  return (
    <ConfirmDeletion
      name={pool.name}
      action="Delete pool"
      isTyped={has(keys)}
      run={async () => {
        await request(`v2/pools/${pool.id}`, { method: 'DELETE' });
        showToast('Pool deleted');
        open(pageOf('pools'));
      }}
      onClose={onClose}
    >
      {inTheWay.length === 0 ? (
        <p>It has no name server and no zone. Deleting it cannot be undone.</p>
      ) : (
        <p>
          ! It has {inTheWay.join(' and ')}, so the service refuses this. Move or delete them first.
        </p>
      )}
      {has(keys) ? (
        <p>
          {totalText(keys, 'key')} belong to it. They stay stored, without a pool, and open nothing
          until you assign them to another pool or zone.
        </p>
      ) : null}
    </ConfirmDeletion>
  );
}
