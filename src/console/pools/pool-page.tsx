import { useLive } from '../live.ts';
import { ServerLines } from '../nameservers/keys-line.tsx';
import { Facts } from '../parts/facts.tsx';
import { LinesControl, type ControlProps } from '../parts/form.tsx';
import { Section } from '../parts/page.tsx';
import { deleting, editing } from '../parts/resource-forms.tsx';
import { ResourcePage } from '../parts/resource-page.tsx';
import { countOf, Links, type Named, visible } from '../parts/text.tsx';
import type { NameServer, Pool } from '../resources.ts';
import { useFirst, type Found } from '../rows.ts';
import { may, seesAllProjects } from '../session.ts';
import { DEFAULT_POOL } from './default-pool.ts';

const SHOWN = 10;

/** Returns NS records as people type them. */
function recordsOf({ ns_records: records }: Pick<Pool, 'ns_records'>): readonly string[] {
  return records.map(({ priority, hostname }) => `${priority} ${hostname}`);
}

/** NS records, one a line. A line that is no record is sent as it is, and refused. */
function RecordsControl(control: ControlProps) {
  return (
    <LinesControl
      control={control}
      lines={recordsOf({ ns_records: (control.value ?? []) as Pool['ns_records'] })}
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

const RECORDS = 'NS records, one a line: priority and host name, such as 1 ns1.example.org.';

export const FORM = {
  collection: 'pools',
  controls: { ns_records: RecordsControl },
  words: { ns_records: { label: 'NS records', description: RECORDS } },
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
      acts={(pool) => [
        editing({ ...FORM, resource: pool }),
        id !== DEFAULT_POOL &&
          deleting('pools', pool, {
            isTyped: keys.data?.rows.length !== 0,
            text: (
              <p>
                The service refuses this while it has name servers or zones. Its keys stay stored,
                without a pool, and open nothing.
              </p>
            ),
          }),
      ]}
      parts={() => (
        <>
          {may('nameservers:list') ? (
            <Section title="Name servers" live={servers}>
              {({ rows }) =>
                rows.length === 0 ? (
                  <p class="muted">None, so its keys are stored here and delivered nowhere.</p>
                ) : (
                  <ServerLines servers={rows} />
                )
              }
            </Section>
          ) : null}
          {may('tsigkeys:list') ? (
            <Section title="Keys" live={keys}>
              {(found) => some(found, 'key', 'keys')}
            </Section>
          ) : null}
          {may('zones:list') ? (
            <Section title="Zones" live={zones}>
              {(found) => some(found, 'zone', 'zones')}
            </Section>
          ) : null}
        </>
      )}
    >
      {(pool) => (
        <Facts
          collection="pools"
          resource={pool}
          rows={[['NS records', visible(recordsOf(pool).join(', ') || 'none')]]}
          without={['ns_records']}
        />
      )}
    </ResourcePage>
  );
}

function some(found: Found<Named>, word: string, page: string) {
  const { rows, total } = found;
  return (
    <>
      <p>{countOf(found, word)}</p>
      <Links page={page} rows={rows} more={(total ?? rows.length) - rows.length} />
    </>
  );
}
