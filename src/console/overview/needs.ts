import { count } from '../parts/text.tsx';
import type { Status } from '../resources.ts';
import { pageOf } from '../router.ts';
import { waitText } from '../rotation-waits.ts';

/** Something that needs a person, with the page or the command that helps. */
export interface Need {
  readonly look: 'bad' | 'warn' | 'busy';
  readonly text: string;
  readonly detail?: string | undefined;
  readonly href?: string;
  readonly run?: string;
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

type Server = NonNullable<Status['nameservers']>['servers'][number];

/** Open name servers come first, and held ones last. */
const RANKS: Readonly<Record<string, number>> = { open: -1, held: 1 };

/** Returns what needs a person, the most urgent first. */
export function needsOf(status: Status): readonly Need[] {
  const { nameservers, tsigkeys: keys, encryption, backup, tokens, zones } = status;
  const failing = new Set(nameservers?.failing.map(({ name }) => name));
  const troubled = nameservers?.servers.filter(({ name }) => failing.has(name)) ?? [];
  const rank = ({ state }: Server) => RANKS[state] ?? 0;
  const needs = troubled.toSorted((one, other) => rank(one) - rank(other)).map(ofServer);
  for (const { id, name, reason, who } of keys?.waiting ?? [])
    needs.push({
      look: 'busy',
      text: `The rotation of ${name} waits`,
      detail: waitText({ reason, who }),
      href: pageOf('keys', id),
    });
  const add = (
    look: Need['look'],
    number: number | undefined,
    noun: string,
    text: string,
    next: Partial<Need>,
  ) => {
    if (number !== undefined && number > 0)
      needs.push({ look, text: `${count(number, noun)} ${text}`, ...next });
  };
  const list = pageOf('keys');
  const rotate = 'Rotate a key to replace its secret without an outage.';
  add('warn', keys?.expiring, 'key', 'to be replaced within 14 days', {
    detail: rotate,
    href: list,
  });
  add('warn', keys?.old, 'key', 'with a secret older than a year', { detail: rotate, href: list });
  add('bad', keys?.published, 'key', 'with a secret that manuals print', {
    href: `${list}?show=weak`,
  });
  add(
    'warn',
    (keys?.weak ?? 0) - (keys?.published ?? 0),
    'key',
    'with a weak algorithm or a short secret',
    { href: `${list}?show=weak` },
  );
  add('warn', keys?.unusable, 'key', 'that no name server can use', {
    href: `${list}?show=unusable`,
  });
  add('warn', keys?.orphaned, 'key', 'without an existing pool or zone', {
    href: `${list}?show=orphaned`,
  });
  add('bad', encryption?.clear_text, 'secret', 'stored in clear text', {
    run: 'tsigil encryption status',
  });
  add('bad', encryption?.unreadable, 'secret', 'that cannot be decrypted', {
    run: 'tsigil encryption verify',
  });
  add('bad', encryption?.lost, 'secret', 'lost with the master key', {
    run: 'tsigil encryption status',
  });
  if (backup?.last_at === null)
    needs.push({
      look: 'warn',
      text: 'No backup was written',
      detail: 'The service knows only those that its own command writes.',
      run: 'tsigil backup FILE',
    });
  const expiring = tokens?.expiring ?? [];
  add('warn', expiring.length, 'token', 'to be replaced within 14 days', {
    detail: expiring
      .slice(0, 3)
      .map(({ name, expires_at: at }) => `${name} expires on ${at.slice(0, 10)}`)
      .join(', '),
    href: pageOf('tokens'),
  });
  add('warn', zones?.outside_tlds ?? 0, 'zone', 'outside the top-level domains', {
    href: `${pageOf('zones')}?all=1&outside_tlds=true`,
  });
  return needs;
}

function ofServer(server: Server): Need {
  const { id, name, state, error, keys_wanted: wanted, keys_live: live } = server;
  const href = pageOf('nameservers', id);
  const { held, pending_since: since } = server;
  if (state === 'open')
    return {
      look: 'bad',
      text: `${name} accepts requests that are not signed`,
      detail: error ?? 'Anybody can transfer or update its zones.',
      href,
    };
  if (state === 'held')
    return {
      look: 'warn',
      text: `Delivery to ${name} is held`,
      detail:
        held === null
          ? (error ?? undefined)
          : `Resuming adds ${held.added}, removes ${held.removed} and changes ${held.changed} keys.`,
      href,
    };
  const looks = { failed: 'bad', pending: 'busy' } as const;
  const missing = wanted > live ? `, ${count(wanted - live, 'key')} not delivered` : '';
  return {
    look: state === 'failed' || state === 'pending' ? looks[state] : 'warn',
    text: `${name} ${TROUBLES[state] ?? `is ${state}`}${missing}`,
    detail:
      error ??
      (since === null
        ? undefined
        : `A change waits since ${since.slice(0, 16).replace('T', ' ')} UTC.`),
    href,
  };
}

/** A line of the setup, with the page or the command that does it. */
export interface Step {
  readonly text: string;
  readonly isDone: boolean;
  readonly href?: string;
  /** The right that it needs. */
  readonly right?: string;
}

/** Returns the steps of the setup that the caller can see, or none once all are done. */
export function stepsOf({ nameservers, tsigkeys, tokens, encryption }: Status): readonly Step[] {
  const newServer = { href: pageOf('nameservers', 'new'), right: 'nameservers:create' };
  const newKey = { href: `${pageOf('keys')}?new=1`, right: 'tsigkeys:create' };
  const servers = nameservers?.servers ?? [];
  const waiting = servers.find(({ state }) => state !== 'live') ?? servers[0];
  const seen = waiting && { href: pageOf('nameservers', waiting.id, 'setup') };
  const delivery = seen === undefined || tsigkeys?.total !== 0 ? (seen ?? newServer) : newKey;
  const steps: Step[] = [];
  if (nameservers !== null) {
    steps.push({ text: 'Add a name server', isDone: servers.length > 0, ...newServer });
    const isClosed = nameservers.live > 0 && servers.every(({ state }) => state !== 'open');
    const text = 'See unsigned requests refused';
    steps.push({ text, isDone: isClosed, ...(seen ?? newServer) });
  }
  if (tsigkeys !== null) {
    const isDelivered = tsigkeys.states.delivered > 0;
    steps.unshift({ text: 'Create a key', isDone: tsigkeys.total > 0, ...newKey });
    steps.push({ text: 'See a key delivered and verified', isDone: isDelivered, ...delivery });
  }
  if (encryption !== null)
    steps.push({
      text: COPY_KEY,
      isDone: encryption.master_key_copied,
      right: 'encryption:manage',
    });
  if (tokens !== null) {
    const more = { href: `${pageOf('tokens')}?new=admin`, right: 'tokens:create' };
    const text = 'Give a second administrator a token';
    steps.push({ text, isDone: tokens.administrators > 1, ...more });
  }
  return steps.every(({ isDone }) => isDone) ? [] : steps;
}

export const COPY_KEY =
  'Copy the master key to a place without backups, such as a password manager';
