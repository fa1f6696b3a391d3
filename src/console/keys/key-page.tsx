import type { ComponentType } from 'preact';
import { useLive } from '../live.ts';
import { Facts } from '../parts/facts.tsx';
import { Lines } from '../parts/lines.tsx';
import { PageHead, Section } from '../parts/page.tsx';
import { deleting, editing } from '../parts/resource-forms.tsx';
import { ResourcePage } from '../parts/resource-page.tsx';
import { Algorithm, State } from '../parts/states.tsx';
import { Ago, count, Name, References, sentence, visible } from '../parts/text.tsx';
import type { Deliveries, Grants, Key, KeyState, Lifecycle } from '../resources.ts';
import { query } from '../router.ts';
import { Clients } from '../uses/clients.tsx';
import { Consequences } from './consequences.tsx';
import { Exports } from './exports.tsx';
import { FORM, isMoving, readStates } from './key-list.tsx';
import { Rotate } from './rotate.tsx';
import { Rotation } from './rotation.tsx';
import { Secret } from './secret.tsx';

interface PartProps {
  /** The path of the key. */
  readonly base: string;
  readonly scope: Key['scope'];
}

/** The parts of the page that are read by themselves, in their order. */
const PARTS: readonly ComponentType<PartProps>[] = [Places, Clients, Opens];

/** A key: its life, where it is live, what it opens, and who uses it. */
export function KeyPage({ id }: { id: string }) {
  const base = `v2/tsigkeys/${id}`;
  const key = useLive<Key>(base);
  const life = useLive<Lifecycle>(`${base}/lifecycle`, ({ keys }) =>
    keys.some(({ state }) => isMoving(state)),
  );
  const own = life.data?.keys.find((each) => each.id === id);
  const state = useLive<KeyState | undefined>(
    own?.state === 'retired' ? undefined : `${base}#state`,
    (data) => isMoving(data?.state),
    async (_, isBackground, signal) => (await readStates([id], { isBackground, signal }))[0],
  );
  const isNew = query.value.has('created');
  if (own?.state === 'retired' && life.data !== undefined)
    return (
      <>
        <PageHead title={own.name} isName of="tsigkeys" />
        <Rotation id={id} life={life.data} />
      </>
    );
  return (
    <ResourcePage
      collection="tsigkeys"
      live={key}
      opened={isNew ? 'Export' : undefined}
      acts={(data) => [
        (own === undefined || own.state === 'active') && {
          label: 'Rotate…',
          right: 'tsigkeys:rotate',
          isPrimary: true,
          dialog: (close) => <Rotate keyData={data} onClose={close} />,
        },
        {
          label: 'Export',
          right: 'tsigkeys:reveal',
          dialog: (close) => (
            <Exports
              id={id}
              title={`${isNew ? 'Key created: ' : 'Export '}${data.name}`}
              onClose={close}
            />
          ),
        },
        editing({ ...FORM, resource: data }),
        deleting('tsigkeys', data, {
          isTyped: state.data?.state !== 'none',
          text: <Consequences base={base} />,
        }),
      ]}
      parts={({ scope }) =>
        PARTS.map((Part, index) => <Part key={index} base={base} scope={scope} />)
      }
    >
      {(data) => (
        <>
          <KeyFacts keyData={data} state={state.data} life={life.data} />
          {life.data !== undefined && life.data.keys.length > 1 ? (
            <Rotation id={id} life={life.data} />
          ) : null}
        </>
      )}
    </ResourcePage>
  );
}

const WEAKNESSES: Readonly<Record<string, string>> = {
  short: 'The secret is shorter than the output of the algorithm',
  published: 'Manuals print the secret, so anybody can sign with it',
  unusable: 'No name server can use the key: its name is no domain name, or its secret not base64',
};

function KeyFacts(props: {
  keyData: Key;
  state: KeyState | undefined;
  life: Lifecycle | undefined;
}) {
  const { keyData, state, life } = props;
  const { id, algorithm } = keyData;
  const flaws = (state?.weakness ?? []).flatMap((word) => WEAKNESSES[word] ?? []);
  const named = (text: string | null | undefined) => text && <bdi>{visible(text)}</bdi>;
  const at = (time: string | null | undefined) => time && <Ago at={time} />;
  return (
    <Facts
      collection="tsigkeys"
      resource={keyData}
      rows={[
        ['Delivery', state === undefined ? '…' : <State state={state.state} />],
        ['Algorithm', <Algorithm name={algorithm} />],
        ['Secret', <Secret id={id} />],
        ['Weakness', flaws.length === 0 ? null : <b class="warn">! {flaws.join('. ')}</b>],
        ['Owner', named(state?.owner)],
        ['Purpose', named(life?.purpose)],
        ['Secret set', at(state?.secret_set_at)],
        ['Should be replaced', at(state?.expires_at)],
      ]}
      without={['algorithm']}
    />
  );
}

function Places({ base }: { base: string }) {
  const live = useLive<Deliveries>(`${base}/deliveries`, ({ servers }) =>
    servers.some(({ state }) => isMoving(state)),
  );
  return (
    <Section title="Where it is live" live={live}>
      {({ servers }) =>
        servers.length === 0 ? (
          <p class="muted">
            Its pool has no name server, so the key is stored here and delivered nowhere.
          </p>
        ) : (
          <Lines
            lines={servers.map((server) => ({
              key: server.name_server,
              state: server.state,
              text: (
                <>
                  <Name text={server.name_server} /> <span class="muted">{server.state}</span>
                </>
              ),
              detail: <PlaceDetail server={server} />,
            }))}
          />
        )
      }
    </Section>
  );
}

function PlaceDetail({ server }: { server: Deliveries['servers'][number] }) {
  const { error, attempts, next_attempt_at: next } = server;
  if (error === null)
    return (
      <>
        Verified <Ago at={server.verified_at} none="never" />
      </>
    );
  return (
    <>
      <bdi>{sentence(error.message)}</bdi> {count(attempts, 'attempt')}, next{' '}
      <Ago at={next} none="soon" />
    </>
  );
}

function Opens({ base, scope }: PartProps) {
  const live = useLive<Grants>(`${base}/grants`);
  const all = scope === 'POOL' ? 'every zone of its pool' : 'its zone';
  return (
    <Section title="What it opens" live={live}>
      {({ grants }) => {
        if (grants === null)
          return <p>Everything: each right that a name server gives, in {all}.</p>;
        if (grants.length === 0)
          return <p>Nothing. Name servers have the key, but no access list names it.</p>;
        return (
          <ul class="stack-s">
            {grants.map(({ rights, zones }) => (
              <li key={`${rights.join()} ${String(zones)}`}>
                <b>{rights.join(' and ')}</b> in{' '}
                {zones === 'all' ? all : <References collection="zones" ids={zones} />}
              </li>
            ))}
          </ul>
        );
      }}
    </Section>
  );
}
