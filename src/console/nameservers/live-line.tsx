import type { Stage } from '../../delivery/faults.ts';
import { Steps, type Step } from '../parts/steps.tsx';
import { Ago } from '../parts/text.tsx';
import { hasFile } from '../brands.ts';
import type { NameServer } from '../resources.ts';
import { pageOf } from '../router.ts';
import { may, session } from '../session.ts';
import { Answer } from './why.tsx';

interface Point {
  readonly stage: Stage | 'live';
  title(server: NameServer): string;
  /** What happens while the name server is at this point. */
  readonly waits: string;
}

const POINTS: readonly Point[] = [
  {
    stage: 'served',
    title: ({ delivery }) => (delivery === 'agent' ? 'Agent reports' : 'Process serves it'),
    waits: 'Waiting for its first report.',
  },
  {
    stage: 'file',
    title: ({ driver }) => (hasFile(driver) ? 'File found' : 'API reached'),
    waits: 'Tsigil writes its keys, and lets the name server load them.',
  },
  { stage: 'key', title: () => 'Key accepted', waits: 'Signed queries verify each key.' },
  {
    stage: 'closed',
    title: () => 'Unsigned refused',
    waits: 'An unsigned transfer and an unsigned update must be refused.',
  },
  { stage: 'live', title: () => 'Live', waits: 'A change is about to be delivered.' },
];

/** Returns the point at which a name server is: the first that it has not reached. */
function placeOf({ state, error_code: code, applied_at: applied }: NameServer): number {
  if (state === 'live') return POINTS.length;
  const stage = session.value?.faults[code ?? '']?.stage;
  const found = POINTS.findIndex((point) => point.stage === stage);
  if (found >= 0) return found;
  return code !== null || applied !== null ? POINTS.length - 1 : 1;
}

/** How far a name server is on the way to live, with the next action where it fails. */
export function LiveLine({ server }: { server: NameServer }) {
  const at = placeOf(server);
  const isLive = at === POINTS.length;
  const isFailed = !isLive && server.error_code !== null;
  const hasNoKey = server.keys_wanted === 0;
  const steps = POINTS.map(({ stage, title, waits }, index): Step => {
    const step = { title: title(server) };
    if (index > at) return { ...step, look: 'open' };
    if (index === at)
      return isFailed ? { ...step, look: 'failed' } : { ...step, look: 'now', text: waits };
    if (stage === 'key' && isLive && hasNoKey)
      return { ...step, look: 'open', text: 'No key yet: the first one is verified at once.' };
    return { ...step, look: 'done' };
  });
  return (
    <section class="panel" aria-label="How far it is">
      <Steps steps={steps} />
      {isFailed ? <Answer server={server} /> : null}
      {isLive ? (
        <p>
          Verified <Ago at={server.verified_at} none="just now" />.
        </p>
      ) : null}
      {isLive && hasNoKey && may('tsigkeys:create') ? (
        <p>
          <a href={`${pageOf('keys')}?new=1`}>Create the first key</a> of its pool.
        </p>
      ) : null}
    </section>
  );
}
