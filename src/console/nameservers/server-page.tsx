import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { FurtherFacts, IdFact } from '../parts/fields.tsx';
import { History } from '../parts/history.tsx';
import { Denied, NotLive } from '../parts/notices.tsx';
import { PageHead, reading, useTitle } from '../parts/page.tsx';
import { EditResource } from '../parts/resource-forms.tsx';
import { State } from '../parts/states.tsx';
import { Terms } from '../parts/terms.tsx';
import { Ago, count, Name, Reference, visible } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { asRequestError, request } from '../requests.ts';
import type { NameServer } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import { may } from '../session.ts';
import { ActDialog, DeleteServer } from './acts.tsx';
import { CONTROLS } from './new-server.tsx';
import { KeysThere, Others, Waiting } from './server-keys.tsx';
import { titleOf } from './titles.ts';
import { Why, type ActName } from './why.tsx';

type Layer = ActName | 'edit' | 'delete' | undefined;

/** A name server: its state and why, what it should have and what it has, and what to do. */
export function ServerPage({ id }: { id: string }) {
  const live = useLive<NameServer>(`v2/nameservers/${id}`, () => true);
  const [layer, setLayer] = useState<Layer>();
  const { data: server, reload } = live;
  useTitle(server === undefined ? 'Name server' : visible(server.name));
  const crumb = { label: 'Name servers', href: pageOf('nameservers') };
  if (server === undefined)
    return reading({ title: 'Name server', crumb, live, what: 'the name server' });
  const close = () => setLayer(undefined);
  const done = (text: string) => {
    close();
    showToast(text);
    reload();
  };
  return (
    <>
      <PageHead title={<Name text={server.name} isWhole />} crumb={crumb}>
        <Actions server={server} onOpen={setLayer} reload={reload} />
      </PageHead>
      <div class="stack">
        <NotLive error={live.error} asOf={live.asOf} reload={reload} />
        <Why server={server} onAct={setLayer} />
        <ServerFacts server={server} />
        <div class="columns">
          <div class="stack">
            <Waiting server={server} />
            <KeysThere server={server} />
          </div>
          <div class="stack">
            <Others server={server} reload={reload} />
            <History collection="nameservers" id={id} />
          </div>
        </div>
      </div>
      {layer === 'edit' ? (
        <EditResource
          collection="nameservers"
          resource={Object.assign({ updated_at: null }, server)}
          title="Edit name server"
          controls={CONTROLS}
          onClose={close}
        />
      ) : layer === 'delete' ? (
        <DeleteServer
          server={server}
          onClose={close}
          onDeleted={() => {
            showToast('Name server deleted');
            open(pageOf('nameservers'));
          }}
        />
      ) : layer === undefined ? null : (
        <ActDialog name={layer} server={server} onClose={close} onDone={done} />
      )}
    </>
  );
}

function Actions(props: { server: NameServer; onOpen(layer: Layer): void; reload(): void }) {
  const { server, onOpen, reload } = props;
  if (!may('nameservers:update') && !may('nameservers:delete'))
    return <Denied right="nameservers:update" what="Changing a name server" />;
  const reconcile = async () => {
    try {
      const options = { method: 'POST', body: {} };
      await request(`v2/nameservers/${server.id}/reconcile`, options);
      showToast('Reconciling: every key is compared and verified');
      reload();
    } catch (error) {
      showToast(asRequestError(error).message);
    }
  };
  const choose = (layer: Layer) => (event: Event) => {
    if (event.currentTarget instanceof Element)
      event.currentTarget.closest('details')?.removeAttribute('open');
    onOpen(layer);
  };
  return (
    <>
      {may('nameservers:update') ? (
        <>
          <button type="button" class="button primary" onClick={() => void reconcile()}>
            Reconcile now
          </button>
          <button type="button" class="button" onClick={() => onOpen('edit')}>
            Edit
          </button>
          <a class="button" href={pageOf('nameservers', server.id, 'setup')}>
            Set up
          </a>
        </>
      ) : null}
      <details class="menu">
        <summary class="button">More</summary>
        <div class="menu-panel actions">
          {may('nameservers:update') ? (
            <>
              <button
                type="button"
                class="button quiet"
                onClick={choose(server.paused ? 'continue' : 'pause')}
              >
                {server.paused ? 'Continue delivery…' : 'Pause delivery…'}
              </button>
              <button type="button" class="button quiet" onClick={choose('release')}>
                Release its keys…
              </button>
            </>
          ) : null}
          {may('nameservers:delete') ? (
            <button type="button" class="button quiet" onClick={choose('delete')}>
              Delete…
            </button>
          ) : null}
        </div>
      </details>
    </>
  );
}

function ServerFacts({ server }: { server: NameServer }) {
  const { keys_live: liveKeys, keys_wanted: wanted, verified_at: verified } = server;
  const isSkewed = server.error_code === 'clock_skew';
  const seenClock = verified === null ? CLOCK_UNKNOWN : CLOCK_RIGHT;
  const keys = (
    <>
      Wanted {count(wanted, 'key')} · {liveKeys.toLocaleString('en')} there and verified{' '}
      <Ago at={verified} none="never" />
    </>
  );
  return (
    <section class="panel" aria-label="The name server">
      <Terms
        rows={[
          ['State', <State state={server.state} />],
          ['Keys', wanted === 0 ? 'None yet: its pool has no key.' : keys],
          ['Last applied', <Ago at={server.applied_at} none="never" />],
          ['Clock', isSkewed ? '✕ Differs by more than TSIG allows' : seenClock],
          ['Program', titleOf(server.driver)],
          ['Address', <code>{visible(server.address)}</code>],
          ['Pool', <Reference collection="pools" id={server.pool_id} />],
          ['Keys may', server.rights.join(' and ')],
          ['Delivered by', server.delivery === 'agent' ? 'the agent on its host' : 'the service'],
        ]}
      >
        <FurtherFacts collection="nameservers" resource={server} shown={SHOWN} />
        <IdFact id={server.id} />
      </Terms>
    </section>
  );
}

const CLOCK_UNKNOWN = 'Not known: no signed query was accepted yet';
const CLOCK_RIGHT = 'Within the 300 s of TSIG, as its verified answers show';

const SHOWN = [
  ...(['id', 'name', 'state', 'keys_live', 'keys_wanted', 'verified_at'] as const),
  ...(['applied_at', 'driver', 'address', 'pool_id', 'rights', 'delivery'] as const),
  ...(['pending_since', 'attempts', 'next_attempt_at', 'held', 'unknown_keys'] as const),
  ...(['key_references', 'evidence', 'error_code', 'error', 'paused'] as const),
];
