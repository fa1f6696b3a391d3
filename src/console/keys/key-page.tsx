import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { FurtherFacts, IdFact } from '../parts/fields.tsx';
import { NotLive } from '../parts/notices.tsx';
import { PageHead, reading, Section, useTitle } from '../parts/page.tsx';
import { Algorithm, State } from '../parts/states.tsx';
import { Terms } from '../parts/terms.tsx';
import { Ago, count, Name, Reference, sentence, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import type { Deliveries, Grants, Key, KeyState, Lifecycle, Uses } from '../resources.ts';
import { get } from '../requests.ts';
import { open, pageOf, query } from '../router.ts';
import { may } from '../session.ts';
import { DeleteKey } from './delete-key.tsx';
import { Exports } from './exports.tsx';
import { EditKey } from './key-forms.tsx';
import { History } from '../parts/history.tsx';
import { Rotate } from './rotate.tsx';
import { Rotation } from './rotation.tsx';
import { Secret } from './secret.tsx';

type Layer = 'edit' | 'delete' | 'export' | 'rotate' | undefined;

const PENDING = ['pending', 'removing', 'spreading'];

/** A key: its life, where it is live, what it opens, and who uses it. */
export function KeyPage({ id }: { id: string }) {
  const base = `v2/tsigkeys/${id}`;
  const key = useLive<Key>(base);
  const life = useLive<Lifecycle>(`${base}/lifecycle`, ({ keys }) =>
    keys.some(({ state }) => PENDING.includes(state)),
  );
  const isRetired = life.data?.keys.some((each) => each.id === id && each.state === 'retired');
  const state = useLive<KeyState | undefined>(
    isRetired === true ? undefined : `${base}#state`,
    (data) => data !== undefined && PENDING.includes(data.state),
    async (_, isBackground, signal) => {
      const body = await get<{ states: KeyState[] }>('v2/tsigkeys/states', {
        method: 'POST',
        body: { ids: [id] },
        isBackground,
        signal,
      });
      return body.states[0];
    },
  );
  const [layer, setLayer] = useState<Layer>(query.peek().has('created') ? 'export' : undefined);
  const name = key.data?.name ?? life.data?.keys.find((each) => each.id === id)?.name;
  useTitle(name === undefined ? 'Key' : visible(name));
  const crumb = { label: 'Keys', href: pageOf('keys') };
  if (key.data === undefined || isRetired === true) {
    if (isRetired === true && life.data !== undefined)
      return (
        <>
          <PageHead title={<Name text={name ?? ''} isWhole />} crumb={crumb} />
          <Rotation id={id} life={life.data} reload={life.reload} />
        </>
      );
    return reading({ title: 'Key', crumb, live: key, what: 'the key' });
  }
  const close = () => setLayer(undefined);
  const reload = () => {
    key.reload();
    life.reload();
    state.reload();
  };
  return (
    <>
      <PageHead title={<Name text={key.data.name} isWhole />} crumb={crumb}>
        <Actions life={life.data} id={id} onOpen={setLayer} />
      </PageHead>
      <div class="stack">
        <NotLive error={key.error} asOf={key.asOf} reload={reload} />
        <KeyFacts keyData={key.data} state={state.data} life={life.data} />
        {life.data !== undefined && life.data.keys.length > 1 ? (
          <Rotation id={id} life={life.data} reload={reload} />
        ) : null}
        <div class="columns">
          <div class="stack">
            <Places base={base} />
            <Clients base={base} />
          </div>
          <div class="stack">
            <Opens base={base} scope={key.data.scope} />
            <History collection="tsigkeys" id={id} />
          </div>
        </div>
      </div>
      {layer === 'edit' ? <EditKey keyData={key.data} onClose={close} /> : null}
      {layer === 'delete' ? (
        <DeleteKey keyData={key.data} onClose={close} onDeleted={() => open(pageOf('keys'))} />
      ) : null}
      {layer === 'export' ? (
        <Exports id={id} name={key.data.name} isNew={query.value.has('created')} onClose={close} />
      ) : null}
      {layer === 'rotate' ? (
        <Rotate
          keyData={key.data}
          onClose={close}
          onRotated={() => {
            close();
            showToast('Rotation started');
            reload();
          }}
        />
      ) : null}
    </>
  );
}

function Actions(props: { life: Lifecycle | undefined; id: string; onOpen(layer: Layer): void }) {
  const { life, id, onOpen } = props;
  const own = life?.keys.find((each) => each.id === id);
  const isReplaced = own !== undefined && own.state !== 'active';
  return (
    <>
      {may('tsigkeys:rotate') && !isReplaced ? (
        <button type="button" class="button primary" onClick={() => onOpen('rotate')}>
          Rotate…
        </button>
      ) : null}
      {may('tsigkeys:reveal') ? (
        <button type="button" class="button" onClick={() => onOpen('export')}>
          Export
        </button>
      ) : null}
      {may('tsigkeys:update') ? (
        <button type="button" class="button" onClick={() => onOpen('edit')}>
          Edit
        </button>
      ) : null}
      {may('tsigkeys:delete') ? (
        <button type="button" class="button" onClick={() => onOpen('delete')}>
          Delete…
        </button>
      ) : null}
    </>
  );
}

const WEAKNESSES: Readonly<Record<string, string>> = {
  md5: 'hmac-md5 must not be used',
  sha1: 'hmac-sha1 is weak',
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
  const { id, scope, resource_id: of, created_at: createdAt } = keyData;
  const secret = (
    <>
      <Secret id={id} />
      {may('tokens:list') ? (
        <a class="small" href={`${pageOf('tokens', 'access')}?key=${id}`}>
          Who can read it
        </a>
      ) : null}
    </>
  );
  const algorithm = (
    <>
      <Algorithm name={keyData.algorithm} />
      {(state?.weakness ?? []).map((word) => (
        <p key={word} class="warn">
          ! {WEAKNESSES[word] ?? word}
        </p>
      ))}
    </>
  );
  const created = (
    <>
      <Ago at={createdAt} />
      {state === undefined || state.secret_set_at === createdAt ? null : (
        <span class="muted">
          , secret set <Ago at={state.secret_set_at} />
        </span>
      )}
    </>
  );
  const named = (text: string | null | undefined) =>
    typeof text === 'string' ? <bdi>{visible(text)}</bdi> : null;
  const collection = scope === 'POOL' ? 'pools' : 'zones';
  return (
    <section class="panel" aria-label="The key">
      <Terms
        rows={[
          ['Delivery', state === undefined ? '…' : <State state={state.state} />],
          ['Algorithm', algorithm],
          ['Secret', secret],
          ['Applies to', <Reference collection={collection} id={of} withLabel />],
          ['Owner', named(state?.owner)],
          ['Purpose', named(life?.purpose)],
          ['Created', created],
          ['Should be replaced', state?.expires_at == null ? null : <Ago at={state.expires_at} />],
        ]}
      >
        <FurtherFacts collection="tsigkeys" resource={keyData} shown={SHOWN} />
        <IdFact id={id} />
      </Terms>
    </section>
  );
}

const SHOWN = [
  ...(['id', 'name', 'algorithm', 'scope'] as const),
  ...(['resource_id', 'created_at', 'updated_at'] as const),
];

function Places({ base }: { base: string }) {
  const live = useLive<Deliveries>(`${base}/deliveries`, ({ servers }) =>
    servers.some(({ state }) => PENDING.includes(state)),
  );
  return (
    <Section title="Where it is live" live={live}>
      {({ servers }) =>
        servers.length === 0 ? (
          <p class="muted">
            Its pool has no name server, so the key is stored here and delivered nowhere.
          </p>
        ) : (
          <ul class="needs">
            {servers.map(({ name_server: name, state, verified_at: at, ...server }) => (
              <li class="need" key={name}>
                <State state={state} words=" " />
                <span>
                  <Name text={name} /> <span class="muted">{state}</span>
                </span>
                {state === 'delivered' ? (
                  <span class="detail">
                    Verified <Ago at={at} none="never" />
                  </span>
                ) : server.error === null ? null : (
                  <span class="detail">
                    <bdi>{sentence(server.error.message)}</bdi>
                    {server.attempts > 0 ? ` Attempt ${server.attempts}` : ''}
                    {server.next_attempt_at === null ? null : (
                      <>
                        , next <Ago at={server.next_attempt_at} />
                      </>
                    )}
                  </span>
                )}
              </li>
            ))}
          </ul>
        )
      }
    </Section>
  );
}

function Clients({ base }: { base: string }) {
  const live = useLive<Uses>(`${base}/uses`);
  return (
    <Section title="Who uses it" live={live}>
      {({ servers }) =>
        servers.length === 0 ? (
          <p class="muted">No evidence: no name server has the key.</p>
        ) : (
          <ul class="needs">
            {servers.map(({ name_server: name, state, since, reason, uses }) => (
              <li class="stack-s need-group" key={name}>
                <p>
                  <Name text={name} />{' '}
                  <span class="muted">
                    {state === 'unknown' ? (
                      `No evidence: ${reason ?? 'its log is not read'}`
                    ) : state === 'not_seen' ? (
                      <>
                        no use in its log since <Ago at={since} />
                      </>
                    ) : null}
                  </span>
                </p>
                {uses.map((use) => (
                  <p class="small row" key={`${use.address} ${use.operation} ${use.outcome}`}>
                    <bdi class="mono">{visible(use.address)}</bdi>
                    <span>{use.operation}</span>
                    <State state={use.outcome} />
                    <span class="muted">
                      {count(use.count, 'time')}, last <Ago at={use.last_at} />
                    </span>
                  </p>
                ))}
              </li>
            ))}
          </ul>
        )
      }
    </Section>
  );
}

function Opens({ base, scope }: { base: string; scope: Key['scope'] }) {
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
                {zones === 'all'
                  ? all
                  : zones.map((zone, index) => (
                      <span key={zone}>
                        {index === 0 ? '' : ', '}
                        <Reference collection="zones" id={zone} />
                      </span>
                    ))}
              </li>
            ))}
          </ul>
        );
      }}
    </Section>
  );
}
