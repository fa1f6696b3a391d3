import type { AuditTrail } from '../audit/trail.ts';
import { withStatus } from '../delivery/status.ts';
import { KEY_DELIVERY_STATES } from '../delivery/responses.ts';
import { allPages } from '../model/pages.ts';
import type { Caller } from '../model/caller.ts';
import {
  anyText,
  array,
  boolean,
  enumeration,
  integer,
  nullable,
  timestamp,
  uuid,
  type ValueOf,
} from '../model/field.ts';
import { described, list, responseObject } from '../model/object.ts';
import type { Condition } from '../model/query.ts';
import type { Fields, ResourceOf, ResourceType } from '../model/resource.ts';
import { MAX_LIMIT } from '../model/settings.ts';
import { keyStates } from '../operations/key-states.ts';
import { HIDDEN } from '../operations/live-status.ts';
import { listConditions } from '../operations/visibility.ts';
import { nameServer, type NameServer } from '../resources/name-server.ts';
import { SERVER_STATES } from '../resources/name-server-status.ts';
import { ALL_PROJECTS, AUDIT_RIGHT, may, READ_ALL_PROJECTS } from '../resources/policy.ts';
import { lifecycle, WAITING_REASONS } from '../resources/lineage.ts';
import { pool } from '../resources/pool.ts';
import { tld } from '../resources/tld.ts';
import { token } from '../resources/token.ts';
import { areOrphaned, keyFacts, tsigkey } from '../resources/tsigkey.ts';
import { zone } from '../resources/zone.ts';
import { expiryOf } from '../rules/expiry.ts';
import { isAdministrator } from '../rules/token-rules.ts';
import { DAY_MS, earlier, millisecondsOf, timestampOf } from '../text/timestamps.ts';
import { shellCommand } from '../text/shell-word.ts';
import { defineAction, type ActionRequest } from './action.ts';
import { ENCRYPTION_RIGHTS } from './encryption-actions.ts';

/** A change that is pending for longer needs a person. */
const PENDING_MS = 60_000;

const EXPIRING_DAYS = 14;
const OLD_DAYS = 365;

/** Tokens with a shorter life expire as planned. */
const LASTING_DAYS = 30;

const MAX_LISTED = 100;
const MAX_NAMED = 3;

/** The states of a key that need a person. The others pass, or a person has chosen them. */
const BROKEN = ['failed', 'undeliverable', 'held'] as const;

/** The members of a name server in its row. */
const SHOWN = [
  'name',
  'driver',
  'pool_id',
  'state',
  'keys_wanted',
  'keys_live',
  'verified_at',
  'pending_since',
  'held',
  'error_code',
  'error',
] as const;
type Shown = (typeof SHOWN)[number];

const SECTIONS = ['nameservers', 'tsigkeys', 'tokens', 'encryption', 'zones'] as const;

const COUNT = integer(0);
const total = described(COUNT, 'The number that the caller can see.');
const hidden = (what: string) => `${what} Null if the caller may not see this.`;

const KEPT = Object.entries(nameServer.fields).flatMap(([name, field]) =>
  SHOWN.some((each) => each === name) ? [[name, described(field, field.description)] as const] : [],
);
const SERVER = responseObject({
  id: described(uuid(), 'The id of the name server.'),
  ...(Object.fromEntries(KEPT) as unknown as Pick<typeof nameServer.fields, Shown>),
});

/** Rotations that wait, with the key that each replaces. */
const WAITING = responseObject({
  id: described(uuid(), 'The id of the key that is being replaced.'),
  name: anyText(),
  reason: enumeration(WAITING_REASONS),
  who: described(array(anyText(), 0, 1000), 'Whom the rotation waits for.'),
});

const STATUS = responseObject({
  version: described(anyText(), 'The version of the service.'),
  nameservers: described(
    nullable(
      responseObject({
        total,
        live: described(COUNT, 'How many are `live`.'),
        failing: described(
          list(
            responseObject({
              name: anyText(),
              state: enumeration(SERVER_STATES),
              pending_since: nullable(timestamp()),
              error: described(nullable(anyText()), 'The failure, without secrets.'),
            }),
          ),
          'The first 100 that need a person: not `live`, `pending` or `paused`, with an error, or with a change that is pending for more than 60 s.',
        ),
        servers: described(list(SERVER), 'The first 100 by name, and those that need a person.'),
      }),
    ),
    hidden('The name servers.'),
  ),
  tsigkeys: described(
    nullable(
      responseObject({
        total,
        states: described(
          responseObject(
            Object.fromEntries(KEY_DELIVERY_STATES.map((state) => [state, COUNT])) as Record<
              (typeof KEY_DELIVERY_STATES)[number],
              typeof COUNT
            >,
          ),
          'The number of keys in each state of delivery.',
        ),
        weak: described(COUNT, 'How many have a weak algorithm, or a short or published secret.'),
        published: described(COUNT, 'How many have a secret that is in a manual or an example.'),
        expiring: described(COUNT, 'How many should be replaced within 14 days.'),
        old: described(COUNT, 'How many have a secret that is older than a year.'),
        waiting: described(list(WAITING), 'The first 100 rotations that wait.'),
        unusable: described(COUNT, 'How many no name server can use.'),
        orphaned: described(COUNT, 'How many have no existing pool or zone.'),
      }),
    ),
    hidden('The keys.'),
  ),
  tokens: described(
    nullable(
      responseObject({
        total,
        administrators: described(COUNT, 'How many are valid administrators.'),
        expiring: described(
          list(responseObject({ name: anyText(), expires_at: timestamp() })),
          'The first 100 that expire within 14 days and were created for 30 days or more.',
        ),
      }),
    ),
    hidden('The tokens.'),
  ),
  encryption: described(
    nullable(
      responseObject({
        clear_text: described(COUNT, 'The number of secrets that are not encrypted.'),
        unreadable: described(COUNT, 'The number of secrets that could not be decrypted.'),
        lost: described(COUNT, 'The number of keys whose secret was lost with the master key.'),
        master_key_copied: described(
          boolean(),
          'Whether somebody has confirmed that the master key is copied to another place, or the service has none.',
        ),
      }),
    ),
    hidden('The secrets.'),
  ),
  backup: described(
    nullable(
      responseObject({
        last_at: described(
          nullable(timestamp()),
          'When `tsigil backup` last wrote a backup. Null if it never did; the service does not know other backups.',
        ),
        restored: described(
          nullable(
            responseObject({
              from: described(anyText(), 'The backup, as the command named it.'),
              backup_at: described(
                nullable(timestamp()),
                'When `tsigil backup` wrote the backup. Null if another program did.',
              ),
              at: described(timestamp(), 'When it was restored.'),
            }),
          ),
          'The backup from which `tsigil restore` last restored the database. Null if it was never restored.',
        ),
      }),
    ),
    hidden('The last backup.'),
  ),
  zones: described(
    nullable(
      responseObject({
        total,
        outside_tlds: described(
          nullable(integer(0, MAX_LIMIT)),
          'How many zones of all projects the TLD entries would reject; 1,000 stands for 1,000 or more. Null if the caller may not see this.',
        ),
      }),
    ),
    hidden('The zones.'),
  ),
  pools: described(nullable(responseObject({ total })), hidden('The pools.')),
  tlds: described(nullable(responseObject({ total })), hidden('The TLD entries.')),
  changes: described(
    nullable(
      list(
        responseObject({
          at: timestamp(),
          actor_name: anyText(),
          action: anyText(),
          resource_name: nullable(anyText()),
        }),
      ),
    ),
    hidden('The last three changes by people and programs, the newest first.'),
  ),
  problems: described(
    list(
      responseObject({
        section: described(enumeration(SECTIONS), 'The member of the response.'),
        message: described(anyText(), 'The problem, in a sentence.'),
        run: described(anyText(), 'The command to run next.'),
      }),
    ),
    'What needs a person.',
  ),
});

export type Status = ValueOf<typeof STATUS>;
export const STATUS_RESPONSE = described(STATUS, 'The state of the service.');

type Problems = Status['problems'][number][];
type Request = Pick<ActionRequest, 'dependencies' | 'context' | 'slicer' | 'disconnected'>;

interface Visible {
  readonly conditions?: readonly Condition[];
  /** The type to which the limits of tokens apply. */
  readonly limited?: ResourceType;
  readonly sortField?: 'id' | 'name';
}

/** Yields the resources that the caller can see, in pages. */
async function* visible<F extends Fields>(
  { dependencies: { store }, context, slicer }: Request,
  type: ResourceType<F>,
  { limited = type, conditions = [], sortField = 'id' }: Visible = {},
): AsyncGenerator<readonly ResourceOf<F>[]> {
  const own = listConditions(limited, context.caller, conditions);
  for await (const page of allPages(store, type, { conditions: own, sortField })) {
    yield page;
    if (slicer.isOver()) await slicer.next();
  }
}

function pick(server: NameServer): Pick<NameServer, Shown> {
  return Object.fromEntries(SHOWN.map((name) => [name, server[name]])) as Pick<NameServer, Shown>;
}

/** What to do about a name server, by its state, if that is not to check it. */
const REMEDIES: Readonly<Record<string, (name: string) => string>> = {
  held: () => 'tsigil delivery resume',
  paused: (name) => `tsigil nameserver set ${name} --paused false`,
  prepared: (name) => `tsigil nameserver adopt ${name}`,
};

async function nameServers(request: Request, problems: Problems): Promise<Status['nameservers']> {
  const { delivery, clock } = request.dependencies;
  const hidden = request.context.caller.limits === undefined ? {} : HIDDEN;
  const old = earlier(clock(), PENDING_MS);
  const found = { total: 0, live: 0 };
  const failing: NameServer[] = [];
  const shown: NameServer[] = [];
  for await (const page of visible(request, nameServer, { sortField: 'name' })) {
    const statuses = await delivery.statuses(page.map(({ id }) => id));
    for (const stored of page) {
      const server = { ...withStatus(stored, statuses.get(stored.id)), ...hidden };
      const { state, error_code: code, pending_since: since } = server;
      found.total += 1;
      if (shown.length < MAX_LISTED) shown.push(server);
      if (state === 'live') found.live += 1;
      const isCalm = ['live', 'pending', 'paused'].includes(state) && code === null;
      if (!isCalm || (since !== null && since < old)) failing.push(server);
    }
  }
  failing.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const { name, state, pending_since: since, ...server } of failing.slice(0, MAX_LISTED))
    problems.push({
      section: 'nameservers',
      message: `${name} is ${state}: ${server.error ?? server.error_code ?? `a change is pending since ${String(since)}`}`,
      run: REMEDIES[state]?.(name) ?? `tsigil nameserver check ${name}`,
    });
  shown.push(...failing.filter((server) => !shown.includes(server)));
  return {
    ...found,
    servers: shown.map((server) => ({ id: server.id, ...pick(server) })),
    failing: failing.slice(0, MAX_LISTED).map(({ name, state, pending_since: since, error }) => ({
      name,
      state,
      error,
      pending_since: since,
    })),
  };
}

async function keys(request: Request, problems: Problems): Promise<Status['tsigkeys']> {
  const { dependencies } = request;
  const states = Object.fromEntries(KEY_DELIVERY_STATES.map((state) => [state, 0]));
  const broken: string[] = [];
  const weak: string[] = [];
  const unusable: string[] = [];
  const orphaned: string[] = [];
  const expiring: string[] = [];
  const waiting: NonNullable<Status['tsigkeys']>['waiting'][number][] = [];
  const now = dependencies.clock();
  const soon = timestampOf(millisecondsOf(now) + EXPIRING_DAYS * DAY_MS);
  const oldest = earlier(now, OLD_DAYS * DAY_MS);
  const { maxAgeDays } = dependencies.settings;
  const { limits } = request.context.caller;
  let [count, old, published] = [0, 0, 0];
  for await (const page of visible(request, keyFacts, { limited: tsigkey })) {
    const shown = await keyStates(dependencies, page);
    const orphans = await areOrphaned(page, dependencies.store);
    const ids = page.map(({ id }) => id);
    const rows = new Map(
      (await dependencies.store.find(lifecycle, 'id', ids)).map((row) => [row.id, row]),
    );
    for (const key of page) {
      const row = rows.get(key.id);
      const reason = row?.waiting_reason ?? null;
      // What the configuration of a name server says is not for a caller with limits.
      const isHidden = limits !== undefined && reason === 'referenced';
      if (row !== undefined && reason !== null)
        waiting.push({ id: key.id, name: key.name, reason, who: isHidden ? [] : row.waiting_for });
      if (row !== undefined && row.state !== 'active') continue;
      const expiry = expiryOf(key, row, maxAgeDays);
      if (expiry !== null && expiry < soon) expiring.push(key.name);
      if (key.secret_set_at < oldest) old += 1;
    }
    for (const [index, { state, weakness }] of shown.entries()) {
      const name = page[index]?.name ?? '';
      count += 1;
      states[state] = (states[state] ?? 0) + 1;
      if (BROKEN.some((each) => each === state)) broken.push(name);
      if (weakness.some((word) => word !== 'unusable')) weak.push(name);
      if (weakness.includes('published')) published += 1;
      if (weakness.includes('unusable')) unusable.push(name);
      if (orphans[index] === true) orphaned.push(name);
    }
  }
  const report = (text: string, names: readonly string[], command: string) =>
    reportNames(problems, 'tsigkeys', `keys ${text}`, names, `tsigkey ${command}`);
  report('that do not work on every name server', broken, shellCommand('status', broken[0] ?? ''));
  report('with a weak algorithm, or a short or published secret', weak, 'list --weak');
  report('that no name server can use', unusable, 'list --unusable');
  report('without an existing pool or zone', orphaned, 'list --orphaned');
  const due = `that should be replaced within ${EXPIRING_DAYS} days`;
  report(due, expiring, shellCommand('rotate', expiring[0] ?? ''));
  return {
    total: count,
    states: states as NonNullable<Status['tsigkeys']>['states'],
    weak: weak.length,
    published,
    expiring: expiring.length,
    old,
    waiting: waiting.slice(0, MAX_LISTED),
    unusable: unusable.length,
    orphaned: orphaned.length,
  };
}

async function tokens(request: Request, problems: Problems): Promise<Status['tokens']> {
  const { store, clock } = request.dependencies;
  const now = clock();
  const until = timestampOf(millisecondsOf(now) + EXPIRING_DAYS * DAY_MS);
  const expiring: { name: string; expires_at: string }[] = [];
  let administrators = 0;
  for await (const page of visible(request, token))
    for (const each of page) {
      const { name, created_at: created, expires_at: expires } = each;
      if (isAdministrator(each, now)) administrators += 1;
      if (
        expires !== null &&
        expires > now &&
        expires < until &&
        millisecondsOf(expires) - millisecondsOf(created) >= LASTING_DAYS * DAY_MS
      )
        expiring.push({ name, expires_at: expires });
    }
  expiring.sort((one, other) => (one.expires_at < other.expires_at ? -1 : 1));
  const names = expiring.map(({ name, expires_at: at }) => `${name} on ${at.slice(0, 10)}`);
  const text = `tokens that expire within ${EXPIRING_DAYS} days`;
  reportNames(problems, 'tokens', text, names, 'token list -c name -c expires_at');
  return {
    total: await store.count(token, listConditions(token, request.context.caller, [])),
    administrators,
    expiring: expiring.slice(0, MAX_LISTED),
  };
}

async function encryption(
  { dependencies }: Request,
  problems: Problems,
): Promise<Status['encryption']> {
  const {
    clear_text: clear,
    unreadable,
    lost_count: lost,
    master_key_copied: isCopied,
  } = await dependencies.encryption.status();
  const texts = [
    [clear, 'in clear text', 'tsigil encryption status'],
    [unreadable, 'that cannot be decrypted', 'tsigil encryption verify'],
    [lost, 'that were lost with the master key', 'tsigil encryption status'],
  ] as const;
  for (const [count, text, run] of texts)
    if (count > 0)
      problems.push({ section: 'encryption', message: `secrets ${text}: ${count}`, run });
  return { clear_text: clear, unreadable, lost, master_key_copied: isCopied };
}

async function zones(request: Request, problems: Problems): Promise<Status['zones']> {
  const { dependencies, context } = request;
  const { store, policy, settings } = dependencies;
  const { caller } = context;
  if (caller.projectId === null && !caller.allProjects) return null;
  const count = await store.count(zone, listConditions(zone, caller, []));
  if (!may(policy, caller, 'zones:outside_tlds')) return { total: count, outside_tlds: null };
  const { resources } = await store.page(
    zone,
    {
      limit: MAX_LIMIT,
      sortField: 'id',
      descending: false,
      conditions: listConditions(zone, { ...caller, allProjects: true }, []),
      computed: { wanted: [{ name: 'outside_tlds', wanted: true }], settings },
    },
    { owner: caller.id, signal: request.disconnected },
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

const EXAMPLE: Status = {
  version: '0.1.0',
  nameservers: {
    total: 2,
    live: 1,
    servers: [],
    failing: [{ name: 'ns2', state: 'failed', pending_since: null, error: 'connection refused' }],
  },
  tsigkeys: {
    total: 31,
    states: {
      delivered: 31,
      removing: 0,
      pending: 0,
      paused: 0,
      held: 0,
      undeliverable: 0,
      failed: 0,
      none: 0,
    },
    weak: 0,
    published: 0,
    expiring: 0,
    old: 0,
    waiting: [],
    unusable: 0,
    orphaned: 0,
  },
  tokens: null,
  encryption: { clear_text: 0, unreadable: 0, lost: 0, master_key_copied: true },
  backup: { last_at: '2030-01-31T12:00:00.000000', restored: null },
  zones: { total: 12, outside_tlds: 0 },
  pools: { total: 1 },
  tlds: { total: 3 },
  changes: null,
  problems: [
    {
      section: 'nameservers',
      message: 'ns2 is failed: connection refused',
      run: 'tsigil nameserver check ns2',
    },
  ],
};

/** Returns everything that an operator looks at, in one request. Requires no right. */
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
    title: 'Status',
    description: 'The state of the whole service, and what needs a person.',
  },
  isLong: true,
  response: {
    kind: STATUS_RESPONSE,
    schemaName: 'Status',
    description: 'The state.',
    examples: { one: { summary: 'A name server has failed.', value: EXAMPLE } },
  },
  async run(request) {
    const { dependencies, context } = request;
    const { policy, store, version, audit } = dependencies;
    const has = (right: string) => may(policy, context.caller, right);
    const caller: Caller =
      has(ALL_PROJECTS) || has(READ_ALL_PROJECTS)
        ? { ...context.caller, allProjects: true }
        : context.caller;
    const asking = { ...request, context: { ...context, caller } };
    const problems: Problems = [];
    const ifListed = async <T>(type: ResourceType, read: () => Promise<T>): Promise<T | null> =>
      has(`${type.collection}:list`) ? read() : null;
    const counted = async (type: ResourceType) => ({
      total: await store.count(type, listConditions(type, caller, [])),
    });
    return {
      version,
      nameservers: await ifListed(nameServer, () => nameServers(asking, problems)),
      tsigkeys: await ifListed(tsigkey, () => keys(asking, problems)),
      tokens: await ifListed(token, () => tokens(asking, problems)),
      encryption:
        has(ENCRYPTION_RIGHTS.get) || has(AUDIT_RIGHT) ? await encryption(asking, problems) : null,
      backup: has(AUDIT_RIGHT) ? await audit.backups() : null,
      zones: await ifListed(zone, () => zones(asking, problems)),
      pools: await ifListed(pool, () => counted(pool)),
      tlds: await ifListed(tld, () => counted(tld)),
      changes: has(AUDIT_RIGHT) ? await lastChanges(audit) : null,
      problems,
    };
  },
});
