import { TROUBLES } from '../nameservers/troubles.ts';
import { count } from '../parts/text.tsx';
import type { Status } from '../../status/response.ts';
import { BASE, pageOf } from '../router.ts';
import { MAX_PAGE } from '../rows.ts';
import { waitText } from '../rotation-waits.ts';

/** Returns a count, which stops at the longest page. */
export function countUpTo(number: number, word: string): string {
  return `${count(number, word)}${number < MAX_PAGE ? '' : ' or more'}`;
}

/** Something that needs a person, with the page or the command that helps. */
export interface Need {
  /** The state that it looks like. */
  readonly state: 'failed' | 'warning' | 'pending' | 'live' | 'paused';
  readonly text: string;
  readonly detail?: string | undefined;
  readonly href?: string;
  readonly run?: string;
}

type Server = NonNullable<Status['nameservers']>['servers'][number];

/** How a name server looks, by its state. */
const LOOKS: Readonly<Record<string, Need['state']>> = {
  failed: 'failed',
  open: 'failed',
  pending: 'pending',
};

/** Open name servers come first, and held ones last. */
const RANKS: Readonly<Record<string, number>> = { open: -1, held: 1 };

const OUTSIDE = 'zones?all=1&outside_tlds=true';

/** What is counted: where, how it looks, what it is, and where to go. The paths are of the console. */
const COUNTS = [
  ['tsigkeys', 'expiring', 'warning', 'key', 'to be replaced within 14 days', 'keys'],
  ['tsigkeys', 'old', 'warning', 'key', 'with a secret older than a year', 'keys'],
  ['tsigkeys', 'published', 'failed', 'key', 'with a secret that manuals print', 'keys?show=weak'],
  ['tsigkeys', 'weak', 'warning', 'weak key', '', 'keys?show=weak'],
  ['tsigkeys', 'unusable', 'warning', 'key', 'that no name server can use', 'keys?show=unusable'],
  ['tsigkeys', 'orphaned', 'warning', 'key', 'without pool or zone', 'keys?show=orphaned'],
  ['encryption', 'clear_text', 'failed', 'secret', 'stored in clear text', 'status'],
  ['encryption', 'unreadable', 'failed', 'secret', 'that cannot be decrypted', 'verify'],
  ['encryption', 'lost', 'failed', 'secret', 'lost with the master key', 'status'],
  ['zones', 'outside_tlds', 'warning', 'zone', 'outside the top-level domains', OUTSIDE],
] as const;

/** Returns what needs a person, the most urgent first. */
export function needsOf(status: Status): readonly Need[] {
  const { nameservers, tsigkeys, backup, tokens } = status;
  const troubled = nameservers?.servers.filter((server) => server.needs_person) ?? [];
  const rank = ({ state }: Server) => RANKS[state] ?? 0;
  const needs = troubled.toSorted((one, other) => rank(one) - rank(other)).map(ofServer);
  for (const { id, name, ...waiting } of tsigkeys?.waiting ?? [])
    needs.push({
      state: 'pending',
      text: `The rotation of ${name} waits`,
      detail: waitText(waiting),
      href: pageOf('keys', id),
    });
  const weak = (tsigkeys?.weak ?? 0) - (tsigkeys?.published ?? 0);
  const counted = { ...status, tsigkeys: { ...tsigkeys, weak } };
  for (const [section, member, state, noun, text, next] of COUNTS) {
    const numbers: Readonly<Record<string, unknown>> = counted[section] ?? {};
    const number = Number(numbers[member] ?? 0);
    if (number === 0) continue;
    const to =
      section === 'encryption' ? { run: `tsigil encryption ${next}` } : { href: BASE + next };
    needs.push({ state, text: `${countUpTo(number, noun)} ${text}`.trim(), ...to });
  }
  if (backup?.last_at === null)
    needs.push({ state: 'warning', text: 'No backup was written', run: 'tsigil backup FILE' });
  for (const { name, expires_at: at } of tokens?.expiring ?? [])
    needs.push({
      state: 'warning',
      text: `The token ${name} expires on ${at.slice(0, 10)}`,
      href: pageOf('tokens'),
    });
  return needs;
}

function ofServer(server: Server): Need {
  const { id, name, state, error, held, keys_wanted: wanted, keys_live: live } = server;
  const late = `${count(wanted - live, 'key')} not delivered`;
  const resuming =
    held && `Resuming adds ${held.added}, removes ${held.removed} and changes ${held.changed} keys`;
  return {
    state: LOOKS[state] ?? 'warning',
    text: `${name}: ${TROUBLES[state] ?? `It is ${state}`}`,
    detail: error ?? resuming ?? (wanted > live ? late : undefined),
    href: pageOf('nameservers', id),
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
    const isDelivered = servers.some((server) => server.keys_live > 0);
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
