import { useLive } from '../live.ts';
import { Confirm, ConfirmDeletion } from '../parts/dialog.tsx';
import { count, Names } from '../parts/text.tsx';
import { request } from '../requests.ts';
import type { NameServer, OpeningKeys } from '../resources.ts';
import { Held, type ActName } from './why.tsx';

interface Act {
  readonly title: string;
  readonly action: string;
  readonly done: string;
  /** Whether the name of the server is typed first. */
  readonly isDangerous: boolean;
  text(server: NameServer): string;
  run(server: NameServer): Promise<unknown>;
}

const send = (path: string, method: string, body: object) => request(path, { method, body });

const ACTS: Readonly<Record<ActName, Act>> = {
  pause: {
    title: 'Pause the delivery?',
    action: 'Pause delivery',
    done: 'Delivery paused',
    isDangerous: false,
    text: () =>
      'The name server keeps the keys that it has. New keys, changes and deletions wait until you continue, so a deleted key works on it until then.',
    run: ({ id }) => send(`v2/nameservers/${id}`, 'PATCH', { paused: true }),
  },
  continue: {
    title: 'Continue the delivery?',
    action: 'Continue delivery',
    done: 'Delivery continues',
    isDangerous: false,
    text: () =>
      'The next pass makes the name server equal to the database: it adds and changes keys, and removes the deleted ones.',
    run: ({ id }) => send(`v2/nameservers/${id}`, 'PATCH', { paused: false }),
  },
  release: {
    title: 'Give its keys back to its operator?',
    action: 'Release keys',
    done: 'The keys on it are no longer from Tsigil',
    isDangerous: true,
    text: ({ name, driver }) =>
      `The delivery is paused, and its keys stay on it as they are, also if they are changed or deleted here. ${
        driver === 'powerdns'
          ? ''
          : `Its configuration goes on including the file of Tsigil; to move the keys to a file of yours first, run on its host: tsigil nameserver release ${name} --write`
      }`,
    run: ({ id }) => request(`v2/nameservers/${id}/release`, { method: 'POST' }),
  },
  resume: {
    title: 'Resume the delivery?',
    action: 'Resume delivery',
    done: 'Delivery resumed',
    isDangerous: true,
    text: () =>
      'The name server becomes equal to the database. Keys that only it has stop working, and keys that were revoked after the backup work again unless you delete them first.',
    run: ({ id }) => send('v2/deliveries/resume', 'POST', { nameserver_id: id }),
  },
  confirm: {
    title: 'Remove these keys from it?',
    action: 'Remove keys',
    done: 'The keys are being removed',
    isDangerous: true,
    text: ({ error }) =>
      `${(error ?? '').replace(/ To confirm this.*$/, '.').replace('..', '.')} Requests with the removed keys are refused from then on.`,
    run: ({ id }) => send(`v2/nameservers/${id}/reconcile`, 'POST', { confirm: true }),
  },
};

export function ActDialog(props: {
  name: ActName;
  server: NameServer;
  onClose(): void;
  onDone(text: string): void;
}) {
  const { name, server, onClose, onDone } = props;
  const act = ACTS[name];
  return (
    <Confirm
      title={act.title}
      action={act.action}
      isDangerous={act.isDangerous}
      typed={act.isDangerous ? server.name : undefined}
      run={async () => {
        await act.run(server);
        onDone(act.done);
      }}
      onClose={onClose}
    >
      <p>
        <bdi>{act.text(server)}</bdi>
      </p>
      {name === 'resume' && server.held !== null ? <Held held={server.held} /> : null}
    </Confirm>
  );
}

/** Deletes a name server, after it said which keys nobody manages on it any more. */
export function DeleteServer(props: { server: NameServer; onClose(): void; onDeleted(): void }) {
  const { server, onClose, onDeleted } = props;
  const base = `v2/nameservers/${server.id}`;
  const { data } = useLive<OpeningKeys>(`${base}/tsigkeys`);
  const hasKeys = server.keys_wanted > 0;
  return (
    <ConfirmDeletion
      name={server.name}
      action="Delete name server"
      isTyped={hasKeys}
      run={async () => {
        await request(base, { method: 'DELETE' });
        onDeleted();
      }}
      onClose={onClose}
    >
      {hasKeys ? (
        <>
          <p>
            Tsigil loses {count(server.keys_wanted, 'key')} on it:{' '}
            {data === undefined ? null : (
              <Names names={data.keys.map(({ name }) => name)} of={server.keys_wanted} />
            )}
            .
          </p>
          <p>
            They stay on the name server and go on working there, and no later change, rotation or
            deletion reaches it.
          </p>
        </>
      ) : (
        <p>It has no key of Tsigil. Deleting it cannot be undone.</p>
      )}
      {server.delivery === 'service' ? (
        <p class="muted">
          Remove it from <code>nameServers</code> in the configuration too, or the next start
          registers it again.
        </p>
      ) : null}
    </ConfirmDeletion>
  );
}
