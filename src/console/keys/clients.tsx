import { useLive } from '../live.ts';
import { Lines } from '../parts/lines.tsx';
import { Section } from '../parts/page.tsx';
import { Ago, count, Name, visible } from '../parts/text.tsx';
import type { Uses } from '../resources.ts';

export function useUses(base: string) {
  return useLive<Uses>(`${base}/uses`);
}

export function Clients({ base }: { base: string }) {
  const live = useUses(base);
  return (
    <Section title="Who uses it" live={live}>
      {({ servers }) =>
        servers.length === 0 ? (
          <p class="muted">No evidence: no name server has the key.</p>
        ) : (
          <Lines
            lines={servers.flatMap(({ name_server: name, state, since, reason, uses }) => [
              {
                key: name,
                state,
                text: <Name text={name} />,
                detail: state === 'unknown' && `No evidence: ${reason ?? 'its log is not read'}`,
                next: state === 'not_seen' && (
                  <span class="detail">
                    No use in its log since <Ago at={since} />
                  </span>
                ),
              },
              ...uses.map((use) => ({
                key: `${name} ${use.address} ${use.operation} ${use.outcome}`,
                state: use.outcome,
                text: (
                  <>
                    <bdi class="mono">{visible(use.address)}</bdi> {use.operation} {use.outcome}
                  </>
                ),
                detail: (
                  <>
                    {count(use.count, 'time')}, last <Ago at={use.last_at} />
                  </>
                ),
              })),
            ])}
          />
        )
      }
    </Section>
  );
}

/** Says which clients lose their key with it. */
export function lostClients({ servers }: Uses): string {
  const clients = [...new Set(servers.flatMap((each) => each.uses.map(({ address }) => address)))];
  const unknown = servers.filter(({ state }) => state === 'unknown');
  const seen =
    clients.length === 0
      ? 'Their logs show no client that uses it.'
      : `These clients are refused from then on: ${clients.join(', ')}.`;
  if (unknown.length === 0) return seen;
  return `${seen} The logs of ${unknown.map(({ name_server: name }) => name).join(', ')} do not show every use, so there may be others.`;
}
