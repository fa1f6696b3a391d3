import { Acts, asking, type Question } from '../parts/acts.tsx';
import { State } from '../parts/states.tsx';
import { Steps, type Step } from '../parts/steps.tsx';
import { Ago, Link, Name } from '../parts/text.tsx';
import type { Lifecycle, LifecycleKey } from '../resources.ts';
import { waitText } from '../rotation-waits.ts';

const STATES = ['spreading', 'switching', 'draining', 'retired'];

/** The steps of a rotation, by the state of the former key that the step ends. */
const STEPS = [
  ['Create successor', 'The new key exists.'],
  ['Verify on name servers', 'Every name server was seen to accept it.'],
  ['Install on the clients', 'Each client was seen with it, or confirmed.'],
  ['Retire the old key', 'Both keys work until then.'],
] as const;

type ActName = 'confirm' | 'retire' | 'abort' | 'restore';

const ACTS: Readonly<Record<ActName, Pick<Question, 'title' | 'action' | 'text' | 'done'>>> = {
  confirm: {
    title: 'Do all clients use the new key?',
    action: 'Confirm all clients',
    text: <p>The overlap begins. The old key is retired when it is over.</p>,
    done: 'All clients are confirmed',
  },
  retire: {
    title: 'Retire the old key now?',
    action: 'Retire now',
    text: <p>Name servers refuse it within seconds. You can restore it for the grace time.</p>,
    done: 'The key is retired',
  },
  abort: {
    title: 'Cancel the rotation?',
    action: 'Cancel rotation',
    text: <p>The successor is deleted. The key works on as before.</p>,
    done: 'The rotation is cancelled',
  },
  restore: {
    title: 'Restore the retired key?',
    action: 'Restore',
    text: <p>It works again, with the same secret. Its clients have time again to move.</p>,
    done: 'The key is restored',
  },
};

/** The acts that a state allows. */
const ALLOWED: Readonly<Record<LifecycleKey['state'], readonly ActName[]>> = {
  active: [],
  spreading: ['abort'],
  switching: ['confirm', 'retire', 'abort'],
  draining: ['retire'],
  retired: ['restore'],
};

/** The keys that replace each other, and how far the rotation is. */
export function Rotation({ id, life }: { id: string; life: Lifecycle }) {
  const former = life.keys.findLast(({ state }) => state !== 'active' && state !== 'retired');
  const shown = former ?? life.keys.find((key) => key.id === id && key.state === 'retired');
  const acts = (shown === undefined ? [] : ALLOWED[shown.state]).map((name) =>
    asking(`${ACTS[name].action}…`, `tsigkeys:${name}`, {
      ...ACTS[name],
      path: `v2/tsigkeys/${shown?.id ?? ''}/${name}`,
      body: {},
      isDangerous: name === 'retire' || name === 'abort',
      typed: name === 'retire' ? shown?.name : undefined,
    }),
  );
  return (
    <section class="panel" aria-label="Rotation">
      <h2>Rotation</h2>
      {former === undefined ? null : <Steps steps={stepsOf(former)} />}
      {former?.waiting == null ? null : (
        <p>
          <bdi>{waitText(former.waiting)}</bdi>
        </p>
      )}
      <ul class="stack-s">
        {life.keys.map((key) => (
          <li class="row" key={key.id}>
            <State state={key.state} />
            {key.id === id ? <Name text={key.name} /> : <Link page="keys" {...key} />}
            {key.retire_at === null ? null : (
              <span class="muted">
                retires <Ago at={key.retire_at} />
              </span>
            )}
          </li>
        ))}
      </ul>
      <div class="row">
        <Acts acts={acts} />
      </div>
    </section>
  );
}

function stepsOf({ state }: LifecycleKey): readonly Step[] {
  const reached = STATES.indexOf(state) + 1;
  return STEPS.map(([title, text], index) => {
    const later = index === reached ? 'now' : 'open';
    return { title, text, look: index < reached ? 'done' : later };
  });
}
