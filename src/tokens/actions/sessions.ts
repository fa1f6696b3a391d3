import { EXAMPLE_ID } from '../../core/error-entry.ts';
import { ServiceError } from '../../core/errors.ts';
import { anyText, boolean, enumeration, nullable, timestamp, uuid } from '../../core/field.ts';
import { described, optional, responseObject, sequence } from '../../core/object.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { endSession, isOwnSession } from '../session-operations.ts';
import { may, requireRight } from '../../resources/policy.ts';
import { session, SESSION_KINDS, type Session } from '../../resources/session.ts';
import { token } from '../../resources/token.ts';
import { earlier } from '../../core/text/timestamps.ts';
import {
  defineAction,
  type ActionGroup,
  type ActionRequest,
} from '../../resources/operations/action.ts';

const GROUP: ActionGroup = {
  name: session.collection,
  description:
    'The sessions of the web console. A session ends with its token, after half an hour without use, twelve hours after the sign-in, and at sign-out. The settings `console.idleSeconds` and `console.lifetimeSeconds` change the times.',
};

const SESSION = responseObject({
  id: described(uuid(), 'The id of the session.'),
  kind: described(
    enumeration(SESSION_KINDS),
    'What the session stands for: a token of the service, `adminToken`, or a user in Keystone.',
  ),
  credential_id: described(anyText(), 'The id of the token, or of the user in Keystone.'),
  name: described(anyText(), 'The name of the token, or of the user in Keystone.'),
  address: described(nullable(anyText()), 'The address of the sign-in.'),
  agent: described(nullable(anyText()), 'The browser, in its own words.'),
  created_at: described(timestamp(), 'The time of the sign-in.'),
  seen_at: described(timestamp(), 'The time of the last use, or up to a minute earlier.'),
  expires_at: described(timestamp(), 'The time at which the session ends at the latest.'),
  current: described(boolean(), 'Whether the request belongs to this session.'),
});

const PAGE = responseObject({
  sessions: described(sequence(SESSION), 'The sessions, the newest first.'),
  links: responseObject({
    self: described(anyText(), 'The URL of this page.'),
    next: described(optional(anyText()), 'The URL of the next page, if there is one.'),
  }),
});

/** Returns whether a caller may see the sessions of others: as it may their tokens. */
function maySeeAll({ dependencies: { policy }, context: { caller } }: ActionRequest): boolean {
  return may(policy, caller, `${token.collection}:list`);
}

const listSessions = defineAction({
  path: `/v2/${session.collection}`,
  method: 'GET',
  operationId: 'list_sessions',
  summary: 'List sessions of the web console',
  description:
    "Returns the sessions of the caller's own token or user. With the right `tokens:list`, returns a page of all sessions.",
  type: session,
  group: GROUP,
  parameters: {
    marker: {
      ...uuid(),
      description: 'The id of the last session of the page before.',
      example: EXAMPLE_ID,
      isOptional: true,
    },
  },
  errors: ['marker_not_found'],
  response: {
    kind: described(PAGE, 'A page of sessions.'),
    schemaName: 'Sessions',
    description: 'The page.',
    examples: {
      one: {
        summary: 'One session.',
        value: {
          sessions: [
            {
              id: EXAMPLE_ID,
              kind: 'token',
              credential_id: '3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
              name: 'ada',
              address: '192.0.2.4',
              agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
              created_at: '2026-02-01T08:30:00.654321',
              seen_at: '2026-02-01T08:41:17.000000',
              expires_at: '2026-02-01T20:30:00.654000',
              current: false,
            },
          ],
          links: { self: 'https://tsigil.example.com/v2/sessions' },
        },
      },
    },
  },
  async run(request) {
    const { dependencies, context, parameters, pageLinks } = request;
    const { store, clock, settings } = dependencies;
    const { caller } = context;
    const now = clock();
    const idleSince = earlier(now, settings.sessionIdleSeconds * 1000);
    const isOpen = (row: Session) =>
      row.purpose === 'session' &&
      row.hash !== '' &&
      row.expires_at > now &&
      row.seen_at > idleSince;
    const shown = (rows: readonly Session[]) =>
      rows.filter(isOpen).map((row) => shownSession(row, caller.session?.id));
    if (!maySeeAll(request)) {
      const found = await store.find(session, 'credential_id', [caller.id]);
      const own = found.filter((row) => isOwnSession(row, caller));
      own.sort((one, other) => (one.created_at < other.created_at ? 1 : -1));
      return { sessions: shown(own), links: pageLinks(undefined) };
    }
    const { marker } = parameters;
    const after = marker === undefined ? undefined : await store.get(session, marker);
    if (marker !== undefined && after === undefined)
      throw new ServiceError('marker_not_found', { id: marker, title: session.title });
    const rows = await store.list(session, {
      limit: MAX_LIMIT,
      sortField: 'created_at',
      descending: true,
      conditions: [],
      after: after && { sortValue: after.created_at, id: after.id },
    });
    const last = rows.length < MAX_LIMIT ? undefined : rows.at(-1);
    return { sessions: shown(rows), links: pageLinks(last?.id) };
  },
});

const deleteSession = defineAction({
  path: `/v2/${session.collection}/{id}`,
  method: 'DELETE',
  operationId: 'delete_session',
  summary: 'End a session of the web console',
  description:
    "Ends a session of the caller's own token or user, or any session with the right `tokens:delete`. Its next request gets 401.",
  type: session,
  group: GROUP,
  empty: { description: 'The session has ended.' },
  async run(request) {
    const { dependencies, context, id } = request;
    const mayEnd = (found: Session) => {
      if (isOwnSession(found, context.caller)) return true;
      if (!maySeeAll(request)) return false;
      requireRight(dependencies.policy, context.caller, `${token.collection}:delete`);
      return true;
    };
    await endSession(dependencies, context, id, mayEnd);
  },
});

export const SESSION_ACTIONS = [listSessions, deleteSession];

function shownSession(row: Session, current: string | undefined) {
  const { id, kind, credential_id, name, address, agent, created_at, seen_at, expires_at } = row;
  return {
    id,
    kind,
    credential_id,
    name,
    address,
    agent,
    created_at,
    seen_at,
    expires_at,
    current: id === current,
  };
}
