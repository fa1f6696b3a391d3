import { count, timeOf } from '../parts/text.tsx';
import type { KeyState, NameServer, Status, Waiting } from '../resources.ts';
import { pageOf } from '../router.ts';
import { waitText } from '../rotation-waits.ts';

/** Something that needs a person. */
export interface Need {
  readonly key: string;
  readonly shape: '✕' | '!' | '◷';
  readonly look: 'bad' | 'warn' | 'busy';
  readonly text: string;
  readonly detail?: string | undefined;
  /** The page that shows it. */
  readonly href?: string;
  /** The command that shows it, where the console has no page. */
  readonly run?: string;
}

export interface Facts {
  readonly status: Status;
  readonly servers: readonly NameServer[];
  readonly waiting: readonly Waiting[];
  readonly ages: KeyAges;
}

/** The states of the oldest keys. */
export interface KeyAges {
  /** Whether these are all keys. */
  readonly isAll: boolean;
  readonly states: readonly Pick<KeyState, 'id' | 'secret_set_at' | 'expires_at'>[];
}

/** What the state of a name server means, after its name. */
const TROUBLES: Readonly<Record<string, string>> = {
  failed: 'cannot be updated',
  pending: 'has waited for a change for more than a minute',
  drifted: 'was changed by another program',
  blocked: 'waits for somebody to confirm the removal of keys',
  prepared: 'has the keys, but its configuration does not include them yet',
  live: 'reports an error',
};

const SHOWN_NAMES = 3;

/** Returns what needs a person, the most urgent first. */
export function needsOf({ status, servers, waiting, ages }: Facts): readonly Need[] {
  return [
    ...openServers(status, servers),
    ...undelivered(status, servers),
    ...held(status, servers),
    ...waiting.map(rotation),
    ...aging(ages),
    ...keys(status),
    ...secrets(status),
    ...backup(status),
    ...tokens(status),
    ...zones(status),
  ];
}

type Failing = NonNullable<Status['nameservers']>['failing'][number];

function failing({ nameservers }: Status, isWanted: (state: string) => boolean): Failing[] {
  return (nameservers?.failing ?? []).filter(({ state }) => isWanted(state));
}

/** Returns the address of the page of a name server, or of the list that shows only this one. */
function serverPage(name: string, servers: readonly NameServer[]): string {
  const server = servers.find((each) => each.name === name);
  return server === undefined
    ? `${pageOf('nameservers')}?q=${encodeURIComponent(name)}`
    : pageOf('nameservers', server.id);
}

function openServers(status: Status, servers: readonly NameServer[]): Need[] {
  return failing(status, (state) => state === 'open').map(({ name, error }) => ({
    key: `open ${name}`,
    shape: '✕',
    look: 'bad',
    text: `${name} accepts requests that are not signed`,
    detail: error ?? 'Anybody can transfer or update its zones.',
    href: serverPage(name, servers),
  }));
}

function undelivered(status: Status, servers: readonly NameServer[]): Need[] {
  return failing(status, (state) => !['open', 'held'].includes(state)).map(
    ({ name, state, error, pending_since: since }) => {
      const server = servers.find((each) => each.name === name);
      const missing = server === undefined ? 0 : server.keys_wanted - server.keys_live;
      const keysText = missing > 0 ? `, ${count(missing, 'key')} not delivered` : '';
      const isBad = state === 'failed';
      return {
        key: `server ${name}`,
        shape: isBad ? '✕' : state === 'pending' ? '◷' : '!',
        look: isBad ? 'bad' : state === 'pending' ? 'busy' : 'warn',
        text: `${name} ${TROUBLES[state] ?? `is ${state}`}${keysText}`,
        detail:
          error ??
          (since === null
            ? undefined
            : `A change waits since ${since.slice(0, 16).replace('T', ' ')} UTC.`),
        href: serverPage(name, servers),
      };
    },
  );
}

function held(status: Status, servers: readonly NameServer[]): Need[] {
  return failing(status, (state) => state === 'held').map(({ name, error }) => {
    const held = servers.find((each) => each.name === name)?.held;
    return {
      key: `held ${name}`,
      shape: '!',
      look: 'warn',
      text: `Delivery to ${name} is held`,
      detail:
        held === null || held === undefined
          ? (error ?? undefined)
          : `Resuming adds ${held.added}, removes ${held.removed} and changes ${held.changed} keys.`,
      href: serverPage(name, servers),
    };
  });
}

function rotation({ id, name, reason, who }: Waiting): Need {
  return {
    key: `rotation ${id}`,
    shape: '◷',
    look: 'busy',
    text: `The rotation of ${name} waits`,
    detail: waitText({ reason, who }),
    href: pageOf('keys', id),
  };
}

const DAY_MS = 86_400_000;
const EXPIRING_DAYS = 14;
const OLD_DAYS = 365;

function aging({ isAll, states }: KeyAges): Need[] {
  const now = Date.now();
  const expiring = states.filter(
    ({ expires_at: at }) => at !== null && timeOf(at) < now + EXPIRING_DAYS * DAY_MS,
  );
  const old = states.filter(({ secret_set_at: at }) => timeOf(at) < now - OLD_DAYS * DAY_MS);
  const kinds = [
    ['expiring', expiring, `that ${expiring.length === 1 ? 'expires' : 'expire'} within 14 days`],
    ['old', old, 'whose secret is older than a year'],
  ] as const;
  return kinds
    .filter(([, found]) => found.length > 0)
    .map(([key, found, text]) => {
      const [only] = found;
      return {
        key,
        shape: '!',
        look: 'warn',
        text: `${isAll ? '' : 'At least '}${count(found.length, 'key')} ${text}`,
        detail: `Rotate ${found.length === 1 ? 'it' : 'them'} to replace the secret without an outage.`,
        href:
          found.length === 1 && only !== undefined
            ? pageOf('keys', only.id)
            : `${pageOf('keys')}?sort=created_at`,
      };
    });
}

function keys({ tsigkeys }: Status): Need[] {
  if (tsigkeys === null) return [];
  const kinds = [
    ['weak', tsigkeys.weak, 'with a weak algorithm or a short secret'],
    ['unusable', tsigkeys.unusable, 'that no name server can use'],
    ['orphaned', tsigkeys.orphaned, 'without an existing pool or zone'],
  ] as const;
  return kinds
    .filter(([, number]) => number > 0)
    .map(([kind, number, text]) => ({
      key: kind,
      shape: '!',
      look: 'warn',
      text: `${count(number, 'key')} ${text}`,
      href: `${pageOf('keys')}?show=${kind}`,
    }));
}

function secrets({ encryption }: Status): Need[] {
  if (encryption === null) return [];
  const kinds = [
    [encryption.clear_text, 'stored in clear text', 'tsigil encryption status'],
    [encryption.unreadable, 'that cannot be decrypted', 'tsigil encryption verify'],
    [encryption.lost, 'lost with the master key', 'tsigil encryption status'],
  ] as const;
  return kinds
    .filter(([number]) => number > 0)
    .map(([number, text, run]) => ({
      key: text,
      shape: '✕',
      look: 'bad',
      text: `${count(number, 'secret')} ${text}`,
      run,
    }));
}

function backup({ backup: last }: Status): Need[] {
  if (last === null || last.last_at !== null) return [];
  return [
    {
      key: 'backup',
      shape: '!',
      look: 'warn',
      text: 'No backup was written',
      detail: 'The service knows only those that its own command writes.',
      run: 'tsigil backup FILE',
    },
  ];
}

function tokens({ tokens: known }: Status): Need[] {
  if (known === null || known.expiring.length === 0) return [];
  const names = known.expiring
    .slice(0, SHOWN_NAMES)
    .map(({ name, expires_at: at }) => `${name} on ${at.slice(0, 10)}`);
  return [
    {
      key: 'tokens',
      shape: '!',
      look: 'warn',
      text: `${count(known.expiring.length, 'token')} ${known.expiring.length === 1 ? 'expires' : 'expire'} soon`,
      detail: names.join(', '),
      href: pageOf('tokens'),
    },
  ];
}

function zones({ zones: known }: Status): Need[] {
  const outside = known?.outside_tlds ?? 0;
  if (outside === 0) return [];
  return [
    {
      key: 'zones',
      shape: '!',
      look: 'warn',
      text: `${count(outside, 'zone')} outside the top-level domains`,
      href: `${pageOf('zones')}?all=1&outside_tlds=true`,
    },
  ];
}

export interface Step {
  readonly text: string;
  readonly isDone: boolean;
  /** Where it is done, and the right that this needs. */
  readonly href?: string;
  readonly right?: string;
  /** The command that does it, where the console cannot. */
  readonly run?: string;
}

const NEW_SERVER = { href: pageOf('nameservers', 'new'), right: 'nameservers:create' };
const NEW_KEY = { href: `${pageOf('keys')}?new=1`, right: 'tsigkeys:create' };
const NEW_ADMINISTRATOR = { href: `${pageOf('tokens')}?new=admin`, right: 'tokens:create' };

/** Returns where the first delivery is seen, or what it waits for. */
function firstDelivery({ status, servers }: Facts): Partial<Step> {
  if (status.nameservers?.total === 0) return NEW_SERVER;
  if (status.tsigkeys?.total === 0) return NEW_KEY;
  const waiting = servers.find(({ state }) => state !== 'live');
  return {
    href: waiting === undefined ? pageOf('keys') : pageOf('nameservers', waiting.id, 'setup'),
  };
}

/** Returns the steps of the setup, or none once all are done. */
export function checklistOf(
  facts: Facts,
  callerId: string,
  administrators: number | undefined,
): readonly Step[] {
  const { nameservers, tsigkeys, backup: last, tokens: known } = facts.status;
  const steps: Step[] = [];
  const add = (text: string, isDone: boolean, how: Partial<Step>) =>
    steps.push(Object.assign({ text, isDone }, how));
  if (nameservers !== null) add('Add a name server', nameservers.total > 0, NEW_SERVER);
  if (tsigkeys !== null) {
    add('Create a key', tsigkeys.total > 0, NEW_KEY);
    const isDelivered = tsigkeys.states.delivered > 0;
    add('See a key delivered and verified', isDelivered, firstDelivery(facts));
  }
  if (known !== null)
    add(
      'Create a token of your own, and stop using the first one',
      callerId !== 'configured',
      NEW_ADMINISTRATOR,
    );
  if (administrators !== undefined)
    add('Give a second administrator a token', administrators > 1, NEW_ADMINISTRATOR);
  if (last !== null) add('Write a backup', last.last_at !== null, { run: 'tsigil backup FILE' });
  return steps.every(({ isDone }) => isDone) ? [] : steps;
}
