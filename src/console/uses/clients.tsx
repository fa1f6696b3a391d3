import type { ShownUses } from '../../uses/key-uses.ts';
import { useLive } from '../live.ts';
import { Lines } from '../parts/lines.tsx';
import { Section } from '../parts/page.tsx';
import { Ago, count, Name, visible } from '../parts/text.tsx';

/** Who uses a key, as the logs of its name servers show. */
export function Clients({ base }: { base: string }) {
  const live = useLive<ShownUses>(`${base}/uses`);
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
