import { withStatus } from '../delivery/status.ts';
import { KEY_DELIVERY_STATES } from '../delivery/responses.ts';
import { allPages } from '../model/pages.ts';
import type { Caller } from '../model/caller.ts';
import {
  anyText,
  enumeration,
  integer,
  nullable,
  timestamp,
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
import { pool } from '../resources/pool.ts';
import { tld } from '../resources/tld.ts';
import { token } from '../resources/token.ts';
import { areOrphaned, tsigkey } from '../resources/tsigkey.ts';
import { zone } from '../resources/zone.ts';
import { earlier, millisecondsOf, timestampOf } from '../text/timestamps.ts';
import { defineAction, type ActionRequest } from './action.ts';
import { ENCRYPTION_RIGHTS } from './encryption-actions.ts';

/** A change that is pending for longer needs a person. */
const PENDING_MS = 60_000;

const DAY_MS = 86_400_000;
const EXPIRING_DAYS = 14;

/** Tokens with a shorter life expire as planned. */
const LASTING_DAYS = 30;

const MAX_LISTED = 100;
const MAX_NAMED = 3;

/** The states of a key that need a person. The others pass, or a person has chosen them. */
const BROKEN = ['failed', 'undeliverable', 'held'] as const;

const SECTIONS = ['nameservers', 'tsigkeys', 'tokens', 'encryption', 'zones'] as const;

const COUNT = integer(0);
const total = described(COUNT, 'The number that the caller can see.');
const hidden = (what: string) => `${what} Null if the caller may not see this.`;

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
        weak: described(COUNT, 'How many have a weak algorithm or a short secret.'),
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

/** Yields the resources that the caller can see, in pages. */
async function* visible<F extends Fields>(
  { dependencies: { store }, context, slicer }: Request,
  type: ResourceType<F>,
  conditions: readonly Condition[] = [],
): AsyncGenerator<readonly ResourceOf<F>[]> {
  const own = listConditions(type, context.caller, conditions);
  for await (const page of allPages(store, type, { conditions: own })) {
    yield page;
    if (slicer.isOver()) await slicer.next();
  }
}

async function nameServers(request: Request, problems: Problems): Promise<Status['nameservers']> {
  const { delivery, clock } = request.dependencies;
  const hidden = request.context.caller.limits === undefined ? {} : HIDDEN;
  const old = earlier(clock(), PENDING_MS);
  const found = { total: 0, live: 0 };
  const failing: NameServer[] = [];
  for await (const page of visible(request, nameServer)) {
    const statuses = await delivery.statuses(page.map(({ id }) => id));
    for (const stored of page) {
      const server = { ...withStatus(stored, statuses.get(stored.id)), ...hidden };
      const { state, error_code: code, pending_since: since } = server;
      found.total += 1;
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
      run:
        state === 'held'
          ? 'tsigil delivery resume'
          : state === 'paused'
            ? `tsigil nameserver set ${name} --paused false`
            : state === 'prepared'
              ? `tsigil nameserver adopt ${name}`
              : `tsigil nameserver check ${name}`,
    });
  return {
    ...found,
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
  let count = 0;
  for await (const page of visible(request, tsigkey)) {
    const shown = await keyStates(dependencies, page);
    const orphans = await areOrphaned(page, dependencies.store);
    for (const [index, { state, weakness }] of shown.entries()) {
      const name = page[index]?.name ?? '';
      count += 1;
      states[state] = (states[state] ?? 0) + 1;
      if (BROKEN.some((each) => each === state)) broken.push(name);
      if (weakness.some((word) => word !== 'unusable')) weak.push(name);
      if (weakness.includes('unusable')) unusable.push(name);
      if (orphans[index] === true) orphaned.push(name);
    }
  }
  const report = (text: string, names: readonly string[], command: string) =>
    reportNames(problems, 'tsigkeys', `keys ${text}`, names, `tsigkey ${command}`);
  report('that do not work on every name server', broken, `status ${broken[0] ?? ''}`);
  report('with a weak algorithm or a short secret', weak, 'list --weak');
  report('that no name server can use', unusable, 'list --unusable');
  report('without an existing pool or zone', orphaned, 'list --orphaned');
  return {
    total: count,
    states: states as NonNullable<Status['tsigkeys']>['states'],
    weak: weak.length,
    unusable: unusable.length,
    orphaned: orphaned.length,
  };
}

async function tokens(request: Request, problems: Problems): Promise<Status['tokens']> {
  const { store, clock } = request.dependencies;
  const now = clock();
  const until = timestampOf(millisecondsOf(now) + EXPIRING_DAYS * DAY_MS);
  const expiring: { name: string; expires_at: string }[] = [];
  const soon = [
    { field: 'expires_at', test: '>', value: now },
    { field: 'expires_at', test: '<', value: until },
  ] as const;
  for await (const page of visible(request, token, soon))
    for (const { name, created_at: created, expires_at: expires } of page)
      if (
        expires !== null &&
        millisecondsOf(expires) - millisecondsOf(created) >= LASTING_DAYS * DAY_MS
      )
        expiring.push({ name, expires_at: expires });
  expiring.sort((one, other) => (one.expires_at < other.expires_at ? -1 : 1));
  const names = expiring.map(({ name, expires_at: at }) => `${name} on ${at.slice(0, 10)}`);
  const text = `tokens that expire within ${EXPIRING_DAYS} days`;
  reportNames(problems, 'tokens', text, names, 'token list -c name -c expires_at');
  return {
    total: await store.count(token, listConditions(token, request.context.caller, [])),
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
  } = await dependencies.encryption.status();
  const texts = [
    [clear, 'in clear text', 'tsigil encryption status'],
    [unreadable, 'that cannot be decrypted', 'tsigil encryption verify'],
    [lost, 'that were lost with the master key', 'tsigil encryption status'],
  ] as const;
  for (const [count, text, run] of texts)
    if (count > 0)
      problems.push({ section: 'encryption', message: `secrets ${text}: ${count}`, run });
  return { clear_text: clear, unreadable, lost };
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
    unusable: 0,
    orphaned: 0,
  },
  tokens: null,
  encryption: { clear_text: 0, unreadable: 0, lost: 0 },
  backup: { last_at: '2030-01-31T12:00:00.000000', restored: null },
  zones: { total: 12, outside_tlds: 0 },
  pools: { total: 1 },
  tlds: { total: 3 },
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
    'Returns the state of the name servers, keys, tokens, secrets, backups and zones that the caller may see, and lists what needs a person in `problems`. Each section needs the right to list its resources; `encryption` needs `encryption:get` or `audit:list`, and `backup` needs `audit:list`.',
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
      problems,
    };
  },
});
