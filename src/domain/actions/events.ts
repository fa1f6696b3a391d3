import { isBefore, type Position } from '../audit/trail.ts';
import type { Caller } from '../model/caller.ts';
import { ServiceError } from '../model/errors.ts';
import { anyText, integer, nullable, timestamp, type Kind } from '../model/field.ts';
import { described, list, responseObject, sequence } from '../model/object.ts';
import { formatPosition, LIMIT_PARAMETER, POSITION } from '../operations/audit-list.ts';
import { concernsCaller, eventsIn, type ChangeEvent } from '../operations/events.ts';
import { EVENTS_RIGHT } from '../resources/limits.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { millisecondsOf } from '../text/timestamps.ts';
import { defineAction } from './action.ts';
import { MAX_WAIT_SECONDS } from './delivery-actions.ts';

const EVENT: Kind<ChangeEvent> = responseObject({
  id: described(anyText(), 'The id of the event, which is also a cursor.'),
  type: described(
    anyText(),
    'The kind of resource and what happened: `tsigkey.create`, `tsigkey.rotation.started`.',
  ),
  time: described(timestamp(), 'The time of the change.'),
  resource_type: described(anyText(), 'The collection of the resource.'),
  resource_id: described(
    nullable(anyText()),
    'The id of the resource. Null for a change of several resources.',
  ),
  resource_name: described(nullable(anyText()), 'The name that the resource had then.'),
  project_id: described(
    nullable(anyText()),
    'The project of the resource. Null for a resource that belongs to no project, or is gone.',
  ),
  changed: described(list(anyText()), 'The names of the members that changed.'),
  name_server: described(
    nullable(anyText()),
    'The name server to which a key was delivered, or from which it was removed.',
  ),
  request_id: described(
    nullable(anyText()),
    'The id of the request. Null for a change that the service made.',
  ),
});

const EXAMPLE: ChangeEvent = {
  id: '17-4711',
  type: 'tsigkey.update',
  time: '2026-11-21T09:30:00.123456',
  resource_type: 'tsigkeys',
  resource_id: '5d1c7f1e-93c4-4b43-8f11-5e9f8a2d7c33',
  resource_name: 'transfer.example.',
  project_id: null,
  changed: ['secret'],
  name_server: null,
  request_id: 'req-3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
};

/** A position in the sealed part of the trail. */
const CURSOR: Kind<Position> = {
  schema: { type: 'string', pattern: '^[0-9]{1,9}-[0-9]{1,16}$' },
  parse(value) {
    const parsed = POSITION.parse(value);
    return 'value' in parsed && parsed.value.unsealed !== true
      ? parsed
      : { problem: "must be a 'cursor' of an earlier response", validator: 'format' };
  },
};

const TYPES = /^[a-z_*-]+(\.[a-z_*-]+)*(,[a-z_*-]+(\.[a-z_*-]+)*)*$/;
const MAX_TYPES = 500;

/** Types of events, separated by commas, as a function that finds them. */
const EVENT_TYPES: Kind<(type: string) => boolean> = {
  schema: { type: 'string', maxLength: MAX_TYPES, pattern: TYPES.source },
  parse(value) {
    const text = String(value);
    if (text.length > MAX_TYPES || !TYPES.test(text))
      return {
        problem: 'must be types of events separated by commas, such as tsigkey.*,zone.create',
        validator: 'format',
      };
    const patterns = text.split(',').map((each) => each.split(/\*+/));
    return { value: (type) => patterns.some((parts) => matches(type, parts)) };
  },
};

/** Returns whether a text consists of these parts, with anything between them. */
function matches(text: string, [first = '', ...others]: readonly string[]): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/** Lists the changes of resources, and waits for the next. */
export const events = defineAction({
  path: '/v2/events',
  method: 'GET',
  right: EVENTS_RIGHT,
  operationId: 'list_events',
  summary: 'Follow the changes of resources',
  description:
    'Returns the changes after a cursor, the oldest first: of the resources that the caller can list, and without values. Without `after`, returns the newest cursor at once. With `wait`, responds with the next change, or after `wait` seconds. Each event is listed once, about 1 s after the change.',
  type: tsigkey,
  group: {
    name: 'events',
    title: 'Events',
    description: 'The changes of resources, in the order in which the audit trail seals them.',
  },
  errors: ['cursor_gone'],
  parameters: {
    after: {
      ...CURSOR,
      description: 'Only events after this cursor: the `cursor` of the last response.',
      example: '17-4711',
      isOptional: true,
    },
    types: {
      ...EVENT_TYPES,
      description:
        'Only events of these types, separated by commas. `*` matches any number of characters.',
      example: 'tsigkey.*',
      isOptional: true,
    },
    limit: LIMIT_PARAMETER,
    wait: {
      ...integer(0, MAX_WAIT_SECONDS),
      description:
        'The maximum time to wait for an event, in seconds. Without it, the response comes at once.',
      example: 30,
      isOptional: true,
    },
  },
  response: {
    kind: described(
      responseObject({
        events: described(sequence(EVENT), 'The events. May be empty, even if others follow.'),
        cursor: described(anyText(), 'The cursor for the next request.'),
      }),
      'Changes of resources.',
    ),
    schemaName: 'Events',
    description: 'The events.',
    examples: {
      one: {
        summary: 'A key has another secret.',
        value: { events: [EXAMPLE], cursor: '17-4711' },
      },
    },
  },
  async run({ dependencies, context: { caller }, parameters, disconnected, waitFor }) {
    const { audit, delivery, settings } = dependencies;
    const { after, types = () => true, limit = settings.defaultLimit, wait = 0 } = parameters;
    const now = () => delivery.milliseconds();
    const until = now() + Math.min(wait * 1000, validMs(caller, dependencies.clock()));
    for (let [from, hasWaited] = [after, false]; ; hasWaited = true) {
      const { records, end, isLast, oldest, newest } = await audit.sealedAfter(from);
      if (from === undefined) return { events: [], cursor: formatPosition(end) };
      // After a restore, the trail can end before the cursor.
      if (isBefore(from, oldest) || from.batch > newest.batch) throw cursorGone(oldest);
      // The next request has another token, other limits, or none.
      if (hasWaited && concernsCaller(records, caller))
        return { events: [], cursor: formatPosition(from) };
      const found = await eventsIn(dependencies, caller, records, types);
      const shown = found.slice(0, limit);
      const cursor = found.length > limit ? shown.at(-1)?.id : formatPosition(end);
      const answer = { events: shown, cursor: cursor ?? formatPosition(end) };
      if (found.length > 0 || !isLast) return answer;
      const waiting = { owner: caller.id, ms: until - now(), signal: disconnected() };
      if (!(await waitFor(() => audit.nextBatch(end.batch, waiting)))) return answer;
      from = end;
    }
  },
});

/** Returns how long the credential of a caller is still valid. */
function validMs({ expiresAt, session }: Caller, now: string): number {
  const ends = [expiresAt, session?.expiresAt].flatMap((each) => each ?? []);
  return Math.min(...ends.map((each) => millisecondsOf(each) - millisecondsOf(now)));
}

function cursorGone(oldest: Position): ServiceError {
  const cursor = formatPosition(oldest);
  return new ServiceError('cursor_gone', cursor, { cursor });
}
