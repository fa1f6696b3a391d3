import { useLive } from '../live.ts';
import { asking, type Act, type Question } from '../parts/acts.tsx';
import { deleting, editing } from '../parts/resource-forms.tsx';
import { count, Names, sentence } from '../parts/text.tsx';
import { showToast } from '../parts/toasts.tsx';
import { send } from '../requests.ts';
import { hasFile } from '../brands.ts';
import type { NameServer, OpeningKeys } from '../resources.ts';
import { pageOf } from '../router.ts';
import { FORM } from './new-server.tsx';
import { Held } from './why.tsx';

/** Returns what can be done about a name server, the most urgent first. */
export function actsOf(server: NameServer): readonly (Act | false)[] {
  const { id, name, state, paused, error, held } = server;
  const path = `v2/nameservers/${id}`;
  const update = (label: string, question: Question) =>
    asking(label, 'nameservers:update', question);
  return [
    state === 'held' &&
      asking('Resume delivery…', 'nameservers:resume', {
        title: 'Resume the delivery?',
        action: 'Resume delivery',
        text: (
          <>
            <p>
              The name server becomes equal to the database. Keys that only it has stop working, and
              keys that were revoked after the backup work again unless you delete them first.
            </p>
            {held === null ? null : <Held held={held} />}
          </>
        ),
        path: 'v2/deliveries/resume',
        body: { nameserver_id: id },
        typed: name,
        done: 'Delivery resumed',
      }),
    state === 'blocked' &&
      update('Confirm the removal…', {
        title: 'Remove these keys from it?',
        action: 'Remove keys',
        text: (
          <p>
            <bdi>{sentence((error ?? '').replace(/ To confirm this.*$/, ''))}</bdi> Requests with
            the removed keys are refused from then on.
          </p>
        ),
        path: `${path}/reconcile`,
        body: { confirm: true },
        typed: name,
        done: 'The keys are being removed',
      }),
    {
      label: 'Reconcile now',
      right: 'nameservers:update',
      run: async () => {
        await send(`${path}/reconcile`, 'POST', {});
        showToast('Reconciling: every key is compared and verified');
      },
    },
    editingServer(server),
    { label: 'Set up', right: 'nameservers:update', href: pageOf('nameservers', id, 'setup') },
    {
      label: paused ? 'Continue delivery' : 'Pause delivery',
      right: 'nameservers:update',
      run: () => send(path, 'PATCH', { paused: !paused }),
    },
    update('Release its keys…', {
      title: 'Give its keys back to its operator?',
      action: 'Release keys',
      text: <Release server={server} />,
      path: `${path}/release`,
      typed: name,
      done: 'The keys on it are no longer from Tsigil',
    }),
    deleting('nameservers', server, {
      isTyped: server.keys_wanted > 0,
      text: <Consequences server={server} />,
    }),
  ];
}

function Release({ server: { name, driver } }: { server: NameServer }) {
  return (
    <>
      <p>
        The delivery is paused, and its keys stay on it as they are, also if they are changed or
        deleted here.
      </p>
      {hasFile(driver) && (
        <p>
          Its configuration goes on including the file of Tsigil; to move the keys to a file of
          yours first, run on its host: <code>tsigil nameserver release {name} --write</code>
        </p>
      )}
    </>
  );
}

/** Says which keys nobody manages on a name server any more. */
function Consequences({ server }: { server: NameServer }) {
  const { keys_wanted: wanted } = server;
  const { data } = useLive<OpeningKeys>(`v2/nameservers/${server.id}/tsigkeys`);
  const names = data?.keys.map(({ name }) => name) ?? [];
  return (
    <>
      {wanted === 0 ? (
        <p>It has no key of Tsigil. Deleting it cannot be undone.</p>
      ) : (
        <p>
          Tsigil loses {count(wanted, 'key')} on it: <Names names={names} of={wanted} />. They go on
          working there, and no later change, rotation or deletion reaches it.
        </p>
      )}
      {server.delivery === 'service' ? (
        <p class="muted">
          Remove it from <code>nameServers</code> in the configuration too, or the next start
          registers it again.
        </p>
      ) : null}
    </>
  );
}

/** Returns the act that changes what a name server is. */
export function editingServer(server: NameServer): Act {
  return editing({ ...FORM, order: [], resource: Object.assign({ updated_at: null }, server) });
}
