import type { Stage } from '../../domain/delivery/faults.ts';
import { Ago, sentence } from '../parts/text.tsx';
import type { NameServer } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may, session } from '../session.ts';

interface Point {
  readonly stage: Stage | 'live';
  label(server: NameServer): string;
  /** What happens while the name server is at this point. */
  waits(server: NameServer): string;
}

const POINTS: readonly Point[] = [
  {
    stage: 'served',
    label: ({ delivery }) => (delivery === 'agent' ? 'Agent reports' : 'Process serves it'),
    waits: () => 'Waiting for its first report.',
  },
  {
    stage: 'file',
    label: ({ driver }) => (driver === 'powerdns' ? 'API reached' : 'File found'),
    waits: () => 'Tsigil writes its keys, and lets the name server load them.',
  },
  {
    stage: 'key',
    label: () => 'Key accepted',
    waits: () => 'Signed queries verify each key.',
  },
  {
    stage: 'closed',
    label: () => 'Unsigned refused',
    waits: () => 'An unsigned transfer and an unsigned update must be refused.',
  },
  { stage: 'live', label: () => 'Live', waits: () => 'A change is about to be delivered.' },
];

const SHAPES: Readonly<Record<string, string>> = { done: '✓', failed: '✕', now: '◷' };

/** Returns the point at which a name server is: the first that it has not reached. */
function placeOf({ state, error_code: code, applied_at: applied }: NameServer): number {
  if (state === 'live') return POINTS.length;
  const stage = code === null ? undefined : session.value?.faults[code]?.stage;
  const found = POINTS.findIndex((point) => point.stage === stage);
  if (found >= 0) return found;
  return code !== null || applied !== null ? POINTS.length - 1 : 1;
}

/** How far a name server is on the way to live, with the next action where it fails. */
export function LiveLine({ server }: { server: NameServer }) {
  const at = placeOf(server);
  const { error_code: code, error, keys_wanted: wanted, next_attempt_at: next } = server;
  const fault = code === null ? undefined : session.value?.faults[code];
  const isFailed = at < POINTS.length && code !== null;
  const hasNoKey = wanted === 0;
  return (
    <section class="panel" aria-label="How far it is">
      <div role="status">
        <ol class="steps">
          {POINTS.map(({ stage, label, waits }, index) => {
            const isOpen = stage === 'key' && hasNoKey && at === POINTS.length;
            const look =
              index < at ? (isOpen ? '' : 'done') : index > at ? '' : isFailed ? 'failed' : 'now';
            const shape = SHAPES[look] ?? '–';
            return (
              <li class={`step ${look}`} key={stage}>
                <b>
                  {shape} {label(server)}
                </b>
                {look === 'now' ? <span>{waits(server)}</span> : null}
                {isOpen ? <span>No key yet: the first one is verified at once.</span> : null}
                {stage === 'live' && index < at ? (
                  <span>
                    Verified <Ago at={server.verified_at} none="just now" />
                  </span>
                ) : null}
              </li>
            );
          })}
        </ol>
      </div>
      {isFailed ? (
        <dl class="facts">
          <dt>What was answered</dt>
          <dd>
            <bdi>{sentence(error ?? code)}</bdi>
          </dd>
          {fault === undefined ? null : (
            <>
              <dt>What to do</dt>
              <dd>{fault.remedy}</dd>
            </>
          )}
          {next === null ? null : (
            <>
              <dt>Next attempt</dt>
              <dd>
                <Ago at={next} />
              </dd>
            </>
          )}
        </dl>
      ) : null}
      {hasNoKey && at === POINTS.length && may('tsigkeys:create') ? (
        <p>
          <a href={`${pageOf('keys')}?new=1`}>Create the first key</a> of its pool.
        </p>
      ) : null}
    </section>
  );
}
