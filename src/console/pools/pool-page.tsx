import { useLive } from '../live.ts';
import { KeysLine } from '../nameservers/keys-line.tsx';
import { ConfirmDeletion } from '../parts/dialog.tsx';
import { Facts } from '../parts/fields.tsx';
import { LinesControl, type ControlProps } from '../parts/form.tsx';
import { History } from '../parts/history.tsx';
import { Section } from '../parts/page.tsx';
import { EditResource } from '../parts/resource-forms.tsx';
import { ResourcePage } from '../parts/resource-page.tsx';
import { State } from '../parts/states.tsx';
import { countOf, Links, Name, type Named, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { request } from '../requests.ts';
import type { NameServer, Pool } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import { useFirst, type Found } from '../rows.ts';
import { may, seesAllProjects } from '../session.ts';
import { DEFAULT_POOL } from './default-pool.ts';

const SHOWN = 10;

/** NS records, one a line. A line that is no record is sent as it is, and refused. */
function RecordsControl(control: ControlProps) {
  const records = (control.value ?? []) as Pool['ns_records'];
  return (
    <LinesControl
      control={control}
      lines={records.map(({ priority, hostname }) => `${priority} ${hostname}`)}
      label="NS records"
      placeholder="1 ns1.example.org."
      read={(lines) =>
        lines.map((line) => {
          const [priority = '', hostname = ''] = line.split(/\s+/);
          return { priority: Number(priority) || priority, hostname };
        })
      }
    />
  );
}

export const FORM = {
  collection: 'pools',
  controls: { ns_records: RecordsControl },
  words: {
    ns_records: {
      description:
        "The NS records of the pool's zones. One a line: priority and host name, such as 1 ns1.example.org.",
    },
    project_id: { required: false },
  },
};

/** A pool: its name servers, its keys and its zones. */
export function PoolPage({ id }: { id: string }) {
  const live = useLive<Pool>(`v2/pools/${id}`);
  const servers = useFirst<NameServer>('nameservers', `pool_id=${id}`, SHOWN);
  const keys = useFirst<Named>('tsigkeys', `scope=POOL&resource_id=${id}`, SHOWN);
  const ofAll = seesAllProjects() ? '&all_projects=true' : '';
  const zones = useFirst<Named>(
    'zones',
    live.data && `pool=${encodeURIComponent(live.data.name)}${ofAll}`,
    SHOWN,
  );
  return (
    <ResourcePage
      collection="pools"
      live={live}
      mayDelete={id !== DEFAULT_POOL}
      edit={(pool, close) => (
        <EditResource {...FORM} resource={pool} title="Edit pool" onClose={close} />
      )}
      remove={(pool, close) => (
        <DeletePool
          pool={pool}
          servers={servers.data}
          keys={keys.data}
          zones={zones.data}
          onClose={close}
        />
      )}
    >
      {(pool) => (
        <>
          <Facts
            collection="pools"
            resource={pool}
            special={{
              ns_records: (
                <ul>
                  {pool.ns_records.map(({ priority, hostname }) => (
                    <li key={`${priority} ${hostname}`}>
                      <bdi class="mono">{visible(hostname)}</bdi>{' '}
                      <span class="muted">priority {priority}</span>
                    </li>
                  ))}
                </ul>
              ),
            }}
          />
          <div class="columns">
            <div class="stack">
              {may('nameservers:list') ? (
                <Section title="Name servers" live={servers}>
                  {({ rows }) => <Servers servers={rows} />}
                </Section>
              ) : null}
              <History collection="pools" id={id} />
            </div>
            <div class="stack">
              {may('tsigkeys:list') ? (
                <Section title="Keys" live={keys}>
                  {(found) => some(found, 'key', 'keys', 'No key opens the whole pool yet.')}
                </Section>
              ) : null}
              {may('zones:list') ? (
                <Section title="Zones" live={zones}>
                  {(found) => some(found, 'zone', 'zones', 'No zone that you can see.')}
                </Section>
              ) : null}
            </div>
          </div>
        </>
      )}
    </ResourcePage>
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

function some(found: Found<Named>, word: string, page: string, none: string) {
  const { rows, total } = found;
  if (rows.length === 0) return <p class="muted">{none}</p>;
  return (
    <>
      <p>{countOf(found, word)}</p>
      <Links page={page} rows={rows} more={(total ?? rows.length) - rows.length} />
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
  const number = (found: Found<Named> | undefined, word: string) =>
    found === undefined || found.rows.length === 0 ? [] : [countOf(found, word)];
  const inTheWay = [...number(servers, 'name server'), ...number(zones, 'zone')];
  const [left] = number(keys, 'key');
  return (
    <ConfirmDeletion
      name={pool.name}
      action="Delete pool"
      isTyped={left !== undefined}
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
      {left === undefined ? null : (
        <p>
          {left} belong to it. They stay stored, without a pool, and open nothing until you assign
          them to another pool or zone.
        </p>
      )}
    </ConfirmDeletion>
  );
}
