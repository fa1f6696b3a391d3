import type { AuditTrail } from '../audit/trail.ts';
import { allPages } from '../core/pages.ts';
import type { Caller } from '../core/caller.ts';
import type { ResourceType } from '../core/resource.ts';
import { MAX_LIMIT } from '../core/settings.ts';
import { HIDDEN, withStatus, type ServerStatuses } from '../resources/operations/live-status.ts';
import { listConditions } from '../resources/operations/visibility.ts';
import { nameServer } from '../resources/name-server.ts';
import { ALL_PROJECTS, AUDIT_RIGHT, may, READ_ALL_PROJECTS } from '../resources/policy.ts';
import { lifecycle } from '../resources/lineage.ts';
import { tld } from '../resources/tld.ts';
import { token } from '../resources/token.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { zone } from '../resources/zone.ts';
import { countAdministrators } from '../resources/token-rules.ts';
import { DAY_MS, earlier, millisecondsOf, timestampOf } from '../core/text/timestamps.ts';
import { shellCommand } from '../core/text/shell-word.ts';
import {
  actionsWith,
  type ActionDependencies,
  type ActionRequest,
} from '../resources/operations/action.ts';
import { ENCRYPTION_RIGHTS } from '../secrets/actions.ts';
import type { Encryption } from '../secrets/encryption-status.ts';
import type { KeyNeed, KeysThat } from './ports.ts';
import { STATUS_EXAMPLE, STATUS_RESPONSE, type Status } from './response.ts';

export interface StatusDependencies extends ActionDependencies {
  readonly delivery: ServerStatuses;
  readonly encryption: Encryption;
  readonly audit: AuditTrail;
  readonly keysThat: KeysThat;
  readonly version: string;
}

const defineAction = actionsWith<StatusDependencies>();

/** A change that is pending for longer needs a person. */
const PENDING_MS = 60_000;

const EXPIRING_DAYS = 14;
const OLD_DAYS = 365;

/** Tokens with a shorter life expire as planned. */
const LASTING_DAYS = 30;

const MAX_LISTED = 100;
const MAX_NAMED = 3;

type Problems = Status['problems'][number][];
type Request = Pick<ActionRequest<StatusDependencies>, 'dependencies' | 'context' | 'connection'>;
type Keys = NonNullable<Status['tsigkeys']>;

async function countSeen(
  { dependencies: { store }, context: { caller } }: Request,
  type: ResourceType,
): Promise<number> {
  return store.countUpTo(type, listConditions(type, caller, []), MAX_LIMIT);
}

/** What to do about a name server, by its state, if that is not to check it. */
const REMEDIES: Readonly<Record<string, (name: string) => string>> = {
  held: () => 'tsigil delivery resume',
  paused: (name) => `tsigil nameserver set ${name} --paused false`,
  prepared: (name) => `tsigil nameserver adopt ${name}`,
};

async function nameServers(
  { dependencies: { store, delivery, clock }, context: { caller } }: Request,
  problems: Problems,
): Promise<Status['nameservers']> {
  const hidden = caller.limits === undefined ? {} : HIDDEN;
  const old = earlier(clock(), PENDING_MS);
  const conditions = listConditions(nameServer, caller, []);
  const servers: NonNullable<Status['nameservers']>['servers'][number][] = [];
  const counts = { total: 0, live: 0 };
  for await (const page of allPages(store, nameServer, { conditions, sortField: 'name' })) {
    const statuses = await delivery.statuses(page.map(({ id }) => id));
    for (const stored of page) {
      const server = { ...withStatus(stored, statuses.get(stored.id)), ...hidden };
      const { id, name, state, error_code: code, pending_since: since } = server;
      const { keys_wanted, keys_live, verified_at, held, error } = server;
      const isCalm = ['live', 'pending', 'paused'].includes(state) && code === null;
      const needs_person = !isCalm || (since !== null && since < old);
      counts.total += 1;
      if (state === 'live') counts.live += 1;
      if (needs_person || counts.total <= MAX_LISTED)
        servers.push({
          ...{ id, name, state, keys_wanted, keys_live, verified_at, held, error },
          needs_person,
        });
      if (needs_person && problems.length < MAX_LISTED)
        problems.push({
          section: 'nameservers',
          message: `${name} is ${state}: ${error ?? code ?? `a change is pending since ${String(since)}`}`,
          run: REMEDIES[state]?.(name) ?? `tsigil nameserver check ${name}`,
        });
    }
  }
  return { ...counts, servers };
}

async function keys(request: Request, problems: Problems): Promise<Keys> {
  const { keysThat, clock, settings } = request.dependencies;
  const conditions = listConditions(tsigkey, request.context.caller, []);
  const namesOf = async (need: KeyNeed) =>
    (await keysThat(need, conditions)).map(({ name }) => name).sort();
  const now = clock();
  const failing = await namesOf({ is: 'failing' });
  const weak = await namesOf({ is: 'weak' });
  const unusable = await namesOf({ is: 'unusable' });
  const orphaned = await namesOf({ is: 'orphaned' });
  const soon = soonAfter(now);
  const { maxAgeDays } = settings;
  const stated = await namesOf({ is: 'expires', before: soon });
  const aged =
    maxAgeDays === 0
      ? []
      : await namesOf({ is: 'aged', before: earlier(soon, maxAgeDays * DAY_MS) });
  const expiring = [...new Set([...stated, ...aged])].slice(0, MAX_LIMIT);
  const report = (text: string, names: readonly string[], command: string) =>
    reportNames(problems, 'tsigkeys', `keys ${text}`, names, `tsigkey ${command}`);
  report(
    'that do not work on every name server',
    failing,
    shellCommand('status', failing[0] ?? ''),
  );
  report('with a weak algorithm, or a short or published secret', weak, 'list --weak');
  report('that no name server can use', unusable, 'list --unusable');
  report('without an existing pool or zone', orphaned, 'list --orphaned');
  const due = `that should be replaced within ${EXPIRING_DAYS} days`;
  report(due, expiring, shellCommand('rotate', expiring[0] ?? ''));
  return {
    total: await countSeen(request, tsigkey),
    failing: failing.length,
    weak: weak.length,
    published: (await namesOf({ is: 'published' })).length,
    expiring: expiring.length,
    old: (await namesOf({ is: 'aged', before: earlier(now, OLD_DAYS * DAY_MS) })).length,
    waiting: await waitingRotations(request),
    unusable: unusable.length,
    orphaned: orphaned.length,
  };
}

function soonAfter(now: string): string {
  return timestampOf(millisecondsOf(now) + EXPIRING_DAYS * DAY_MS);
}

async function waitingRotations({
  dependencies: { store, keysThat },
  context: { caller },
}: Request): Promise<Keys['waiting']> {
  const waiting = await keysThat({ is: 'waiting' }, listConditions(tsigkey, caller, []));
  const names = new Map(waiting.slice(0, MAX_LISTED).map(({ id, name }) => [id, name]));
  const rows = await store.find(lifecycle, 'id', [...names.keys()]);
  return rows.flatMap(({ id, waiting_reason: reason, waiting_for: who }) => {
    if (reason === null) return [];
    // What the configuration of a name server says is not for a caller with limits.
    const isHidden = caller.limits !== undefined && reason === 'referenced';
    return [{ id, name: names.get(id) ?? '', reason, who: isHidden ? [] : who }];
  });
}

async function tokens(request: Request, problems: Problems): Promise<Status['tokens']> {
  const { store, clock } = request.dependencies;
  const now = clock();
  const soon = soonAfter(now);
  const next = await store.list(token, {
    limit: MAX_LIMIT,
    sortField: 'expires_at',
    descending: false,
    conditions: [],
    after: { sortValue: now, id: '' },
  });
  const expiring = next.flatMap(({ name, created_at: created, expires_at: at }) =>
    at !== null &&
    at < soon &&
    millisecondsOf(at) - millisecondsOf(created) >= LASTING_DAYS * DAY_MS
      ? [{ name, expires_at: at }]
      : [],
  );
  const names = expiring.map(({ name, expires_at: at }) => `${name} on ${at.slice(0, 10)}`);
  const text = `tokens that expire within ${EXPIRING_DAYS} days`;
  reportNames(problems, 'tokens', text, names, 'token list -c name -c expires_at');
  return {
    total: await countSeen(request, token),
    administrators: await countAdministrators(store, now, 2),
    expiring: expiring.slice(0, MAX_LISTED),
  };
}

async function encryption(
  { dependencies }: Request,
  problems: Problems,
): Promise<Status['encryption']> {
  const summary = await dependencies.encryption.summary(MAX_LIMIT);
  const { clear_text, unreadable, lost_count: lost, master_key_copied } = summary;
  const texts = [
    [clear_text, 'in clear text', 'tsigil encryption status'],
    [unreadable, 'that cannot be decrypted', 'tsigil encryption verify'],
    [lost, 'that were lost with the master key', 'tsigil encryption status'],
  ] as const;
  for (const [count, text, run] of texts)
    if (count > 0)
      problems.push({ section: 'encryption', message: `secrets ${text}: ${count}`, run });
  return { clear_text, unreadable, lost, master_key_copied };
}

async function zones(request: Request, problems: Problems): Promise<Status['zones']> {
  const { dependencies, context } = request;
  const { store, policy, settings } = dependencies;
  const { caller } = context;
  if (caller.projectId === null && !caller.allProjects) return null;
  const count = await countSeen(request, zone);
  if (!may(policy, caller, 'zones:outside_tlds')) return { total: count, outside_tlds: null };
  const { resources } = await store.page(
    zone,
    {
      limit: MAX_LIMIT,
      sortField: 'id',
      descending: false,
      conditions: listConditions(zone, { ...caller, allProjects: true }, []),
      computed: { conditions: [{ name: 'outside_tlds', wanted: true }], settings },
    },
    { owner: caller.id, signal: request.connection.disconnected },
  );
  const names = resources.map(({ name }) => name);
  const text = 'zones outside the TLD entries';
  reportNames(problems, 'zones', text, names, 'zone list --outside-tlds');
  return { total: count, outside_tlds: names.length };
}

const MAX_CHANGES = 3;
const MAX_RECORDS = 50;
const MAX_RECORDS_BYTES = 100_000;

/** What only reads, and the actions of sessions. */
const NO_CHANGE = /^sessions:|:(?:get|list|export|reveal|desired|observe)$/;

async function lastChanges(audit: AuditTrail): Promise<Status['changes']> {
  const { records } = await audit.records({
    filters: { outcome: 'success' },
    first: 'newest',
    from: undefined,
    limit: MAX_RECORDS,
    maxBytes: MAX_RECORDS_BYTES,
  });
  return records
    .filter(({ actor_kind: kind, action }) => kind !== 'service' && !NO_CHANGE.test(action))
    .slice(0, MAX_CHANGES)
    .map(({ at, actor_name, action, resource_name }) => ({
      at,
      actor_name,
      action,
      resource_name,
    }));
}

/** Adds the problem that `text` describes, with the number and the first of the names, if any. */
function reportNames(
  problems: Problems,
  section: Problems[number]['section'],
  text: string,
  names: readonly string[],
  command: string,
): void {
  if (names.length === 0) return;
  const count = names.length === MAX_LIMIT ? `${MAX_LIMIT} or more` : names.length;
  const first = names.slice(0, MAX_NAMED).join(', ');
  const more = names.length > MAX_NAMED ? ', ...' : '';
  problems.push({
    section,
    message: `${text}: ${count} (${first}${more})`,
    run: `tsigil ${command}`,
  });
}

export const status = defineAction({
  path: '/v2/status',
  method: 'GET',
  operationId: 'get_status',
  summary: 'Get the state of the service, and what needs a person',
  description:
    'Returns the state of the name servers, keys, tokens, secrets, backups and zones that the caller may see, and lists what needs a person in `problems`. Each section needs the right to list its resources; `encryption` needs `encryption:get` or `audit:list`, and `backup` and `changes` need `audit:list`.',
  type: token,
  group: {
    name: 'status',
    description: 'The state of the whole service, and what needs a person.',
  },
  isLong: true,
  response: {
    kind: STATUS_RESPONSE,
    schemaName: 'Status',
    description: 'The state.',
    examples: { one: { summary: 'A name server has failed.', value: STATUS_EXAMPLE } },
  },
  async run(request) {
    const { dependencies, context } = request;
    const { policy, version, audit } = dependencies;
    const has = (right: string) => may(policy, context.caller, right);
    const caller: Caller =
      has(ALL_PROJECTS) || has(READ_ALL_PROJECTS)
        ? { ...context.caller, allProjects: true }
        : context.caller;
    const asking = { ...request, context: { ...context, caller } };
    const problems: Problems = [];
    const ifListed = async <T>(type: ResourceType, read: () => Promise<T>): Promise<T | null> =>
      has(`${type.collection}:list`) ? read() : null;
    return {
      version,
      nameservers: await ifListed(nameServer, () => nameServers(asking, problems)),
      tsigkeys: await ifListed(tsigkey, () => keys(asking, problems)),
      tokens: await ifListed(token, () => tokens(asking, problems)),
      encryption:
        has(ENCRYPTION_RIGHTS.get) || has(AUDIT_RIGHT) ? await encryption(asking, problems) : null,
      backup: has(AUDIT_RIGHT) ? await audit.backups() : null,
      zones: await ifListed(zone, () => zones(asking, problems)),
      tlds: await ifListed(tld, async () => ({ total: await countSeen(asking, tld) })),
      changes: has(AUDIT_RIGHT) ? await lastChanges(audit) : null,
      problems,
    };
  },
});
