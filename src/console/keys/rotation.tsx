import { useState } from 'preact/hooks';
import { Confirm } from '../parts/dialog.tsx';
import { State } from '../parts/states.tsx';
import { Ago, Name } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { request } from '../requests.ts';
import type { Lifecycle, LifecycleKey } from '../resources.ts';
import { pageOf } from '../router.ts';
import { waitText } from '../rotation-waits.ts';
import { may } from '../session.ts';

const STATES = ['spreading', 'switching', 'draining', 'retired'] as const;

/** The steps of a rotation, by the state of the former key that the step ends. */
const STEPS = [
  ['Create successor', 'The new key exists.'],
  ['Verify on name servers', 'Every name server was seen to accept it.'],
  ['Install on the clients', 'Each client was seen with it, or confirmed.'],
  ['Retire the old key', 'Both keys work until then.'],
] as const;

interface Act {
  readonly name: 'confirm' | 'retire' | 'abort' | 'restore';
  readonly label: string;
  readonly title: string;
  readonly text: string;
  readonly isDangerous: boolean;
}

const ACTS: readonly Act[] = [
  {
    name: 'confirm',
    label: 'Confirm all clients',
    title: 'Do all clients use the new key?',
    text: 'The overlap begins. The old key is retired when it is over.',
    isDangerous: false,
  },
  {
    name: 'retire',
    label: 'Retire now…',
    title: 'Retire the old key now?',
    text: 'Name servers refuse it within seconds. You can restore it for the grace time.',
    isDangerous: true,
  },
  {
    name: 'abort',
    label: 'Cancel rotation…',
    title: 'Cancel the rotation?',
    text: 'The successor is deleted. The key works on as before.',
    isDangerous: true,
  },
  {
    name: 'restore',
    label: 'Restore',
    title: 'Restore the retired key?',
    text: 'It works again, with the same secret. Its clients have time again to move.',
    isDangerous: false,
  },
];

/** The acts that a state allows. */
const ALLOWED: Readonly<Record<LifecycleKey['state'], readonly Act['name'][]>> = {
  active: [],
  spreading: ['abort'],
  switching: ['confirm', 'retire', 'abort'],
  draining: ['retire'],
  retired: ['restore'],
};

/** The keys that replace each other, and how far the rotation is. */
export function Rotation(props: { id: string; life: Lifecycle; reload(): void }) {
  const { id, life, reload } = props;
  const [act, setAct] = useState<Act>();
  const former = life.keys.findLast(({ state }) => state !== 'active' && state !== 'retired');
  const shown = former ?? life.keys.find((key) => key.id === id && key.state === 'retired');
  const acts = ACTS.filter(
    ({ name }) =>
      shown !== undefined && ALLOWED[shown.state].includes(name) && may(`tsigkeys:${name}`),
  );
  return (
    <section class="panel" aria-label="Rotation">
      <h2>Rotation</h2>
      {former === undefined ? null : <Steps former={former} />}
      {former?.waiting === null || former === undefined ? null : (
        <p>
          <bdi>{waitText(former.waiting)}</bdi>
        </p>
      )}
      <ul class="stack-s">
        {life.keys.map((key) => (
          <li class="row" key={key.id}>
            <State state={key.state} />
            {key.id === id ? (
              <Name text={key.name} />
            ) : (
              <a href={pageOf('keys', key.id)}>
                <Name text={key.name} />
              </a>
            )}
            {key.retire_at === null ? null : (
              <span class="muted">
                retires <Ago at={key.retire_at} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {acts.length === 0 ? null : (
        <div class="row">
          {acts.map((each) => (
            <button type="button" class="button" key={each.name} onClick={() => setAct(each)}>
              {each.label}
            </button>
          ))}
        </div>
      )}
      {act === undefined || shown === undefined ? null : (
        <ActDialog
          act={act}
          former={shown}
          onClose={() => setAct(undefined)}
          onDone={() => {
            setAct(undefined);
            reload();
          }}
        />
      )}
    </section>
  );
}

function Steps({ former }: { former: LifecycleKey }) {
  const reached = STATES.findIndex((state) => state === former.state) + 1;
  return (
    <ol class="steps">
      {STEPS.map(([title, text], index) => {
        const look = index < reached ? 'done' : index === reached ? 'now' : '';
        return (
          <li class={`step ${look}`} key={title}>
            <b>
              {index + 1} {title} {look === 'done' ? '✓' : look === 'now' ? '◷' : ''}
            </b>
            <span>{text}</span>
          </li>
        );
      })}
    </ol>
  );
}

function ActDialog(props: { act: Act; former: LifecycleKey; onClose(): void; onDone(): void }) {
  const { act, former, onClose, onDone } = props;
  const [isRefused, setRefused] = useState(false);
  const canForce = act.name === 'retire' || act.name === 'abort';
  return (
    <Confirm
      title={act.title}
      action={isRefused && canForce ? 'Do it nevertheless' : act.label.replace('…', '')}
      isDangerous={act.isDangerous}
      typed={act.name === 'retire' ? former.name : undefined}
      run={async () => {
        try {
          await request(`v2/tsigkeys/${former.id}/${act.name}`, {
            method: 'POST',
            body: {},
            ...(isRefused && canForce ? { headers: { 'Tsigil-Force': 'true' } } : {}),
          });
        } catch (error) {
          setRefused(true);
          throw error;
        }
        showToast(`${act.label.replace('…', '')}: done`);
        onDone();
      }}
      onClose={onClose}
    >
      <p>{act.text}</p>
      <p>
        Key: <Name text={former.name} />
      </p>
    </Confirm>
  );
}
