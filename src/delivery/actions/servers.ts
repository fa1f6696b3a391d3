import { REPORTING_UNKNOWN_KEYS } from '../../brands/brands.ts';
import {
  DELIVERIES,
  DELIVERIES_EXAMPLE,
  isPending,
  lacksAgent,
  LISTED_STATES,
  NAME_SERVER_CHECK,
  REMOVING,
  REMOVING_EXAMPLE,
  REQUESTED,
  RESUMED,
  type ShownDeliveries,
} from '../responses.ts';
import { deliveriesFor, deliveriesOf } from '../shown-deliveries.ts';
import type { Caller, Limits } from '../../core/caller.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Resource } from '../../core/resource.ts';
import { integer } from '../../core/field.ts';
import { described, responseObject } from '../../core/object.ts';
import { auditEntry, type AuditEntry, type AuditOrigin } from '../../core/audit-record.ts';
import { getResource, updateResource } from '../../resources/operations/collection.ts';
import { existing } from '../../resources/operations/visibility.ts';
import { nameServer, type NameServer } from '../../resources/name-server.ts';
import { CHECK_RIGHT, RESUME_RIGHT } from '../../resources/policy.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { zone } from '../../resources/zone.ts';
import { assertUnknownKeyUnreferenced } from '../../resources/reference-rules.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { actionsWith, type ActionDependencies } from '../../resources/operations/action.ts';
import type { DeliveryStatus } from '../delivery-ports.ts';
import { KEY_REMOVAL_BODY, RECONCILE_BODY, RESUME_BODY } from '../requests.ts';

export interface DeliveryDependencies extends ActionDependencies {
  readonly delivery: DeliveryStatus;
}

const defineAction = actionsWith<DeliveryDependencies>();

export const MAX_WAIT_SECONDS = 30;

/** After this many milliseconds without a notification, a waiting request reads the status. */
const RECHECK_MS = 500;

const wait = {
  ...integer(0, MAX_WAIT_SECONDS),
  description:
    'The maximum time to wait until no name server is pending and every agent reports, in seconds. Without it, the response comes at once.',
  example: 5,
  isOptional: true,
} as const;

export const DELIVERY_ACTIONS = [
  defineAction({
    path: `/v2/${tsigkey.collection}/{id}/deliveries`,
    method: 'GET',
    right: `${tsigkey.collection}:get`,
    operationId: 'list_tsigkey_deliveries',
    summary: 'Show on which name servers a TSIG key works',
    description:
      'Returns the state of the key on each name server of its pool. With `wait`, responds once no name server is pending and every agent reports, or after `wait` seconds. A failure before the last change of the key is pending. After the deletion of the key, returns the name servers that still have it, and 404 once every name server refuses it.',
    type: tsigkey,
    parameters: { wait },
    response: {
      kind: described(DELIVERIES, 'The state of a key on its name servers.'),
      schemaName: 'TsigKeyDeliveries',
      description: 'The deliveries.',
      examples: { one: { summary: 'One name server.', value: DELIVERIES_EXAMPLE } },
    },
    async run({ dependencies, context, id, parameters, connection }) {
      const [{ store, delivery }, { caller }] = [dependencies, context];
      const read = async () => {
        const stored = await store.get(tsigkey, id);
        if (stored === undefined) return ofDeleted(dependencies, caller, id);
        const key = await existing(store, tsigkey, caller, stored);
        const [places = []] = await delivery.ofKeys([key]);
        return deliveriesOf(key, places);
      };
      const until = delivery.milliseconds() + (parameters.wait ?? 0) * 1000;
      let shown = await read();
      while ((isPending(shown) || lacksAgent(shown)) && delivery.milliseconds() < until) {
        const rest = Math.max(1, until - delivery.milliseconds());
        const mayHaveChanged = () => delivery.changed(Math.min(RECHECK_MS, rest));
        if (!(await connection.waitFor(mayHaveChanged))) break;
        shown = await read();
      }
      return deliveriesFor(caller, shown);
    },
  }),
  defineAction({
    path: '/v2/deliveries',
    method: 'GET',
    right: `${nameServer.collection}:list`,
    operationId: 'list_deliveries',
    summary: 'List deleted TSIG keys that are still on a name server',
    description: 'Returns the keys that a name server still has but should not have.',
    type: nameServer,
    parameters: {
      state: { ...LISTED_STATES, description: 'The state to list.', example: 'removing' },
    },
    response: {
      kind: described(REMOVING, 'Keys on name servers.'),
      schemaName: 'Deliveries',
      description: 'The keys.',
      examples: { one: { summary: 'One key.', value: REMOVING_EXAMPLE } },
    },
    async run({ dependencies: { delivery, store }, context: { caller } }) {
      const deliveries = await delivery.removing();
      if (caller.limits === undefined) return { deliveries };
      // Of a deleted key, only the pool of the name server is known.
      const { pools = [] } = caller.limits;
      const names = [...new Set(deliveries.map((each) => each.name_server.toLowerCase()))];
      const servers = await store.find(nameServer, 'name', names);
      const within = servers
        .filter(({ pool_id: id }) => pools.includes(id))
        .map(({ name }) => name);
      return { deliveries: deliveries.filter((each) => within.includes(each.name_server)) };
    },
  }),
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/reconcile`,
    method: 'POST',
    right: `${nameServer.collection}:update`,
    operationId: 'reconcile_nameserver',
    summary: 'Reconcile a name server now',
    description:
      'Starts the next pass at once. The pass compares the keys on the name server with the keys in the database, and verifies all keys. With `confirm`, the pass may remove any number of keys from a name server whose state is `blocked`.',
    type: nameServer,
    body: RECONCILE_BODY,
    response: {
      kind: REQUESTED,
      schemaName: 'ReconcileResult',
      description: 'The next pass starts at once.',
      examples: { usual: { summary: 'The next pass starts at once.', value: { requested: true } } },
    },
    async run({ dependencies, context, id, body }) {
      const server = await getResource(dependencies, nameServer, context.caller, id);
      const confirmation = body.confirm
        ? entryAbout(server, 'reconcile', dependencies, context, { confirm: true })
        : undefined;
      await dependencies.delivery.request(id, confirmation);
      if (confirmation !== undefined) dependencies.recording.recorded(confirmation);
      return { requested: true };
    },
  }),
  defineAction({
    path: '/v2/deliveries/resume',
    method: 'POST',
    right: RESUME_RIGHT,
    operationId: 'resume_delivery',
    summary: 'Resume delivery that is held',
    description:
      'Ends the state `held` of a NameServer, or of all NameServers. The next pass makes the keys on the name server equal to the keys in the database: it removes keys that only the name server has, and delivers the keys that were held.',
    type: nameServer,
    body: RESUME_BODY,
    response: {
      kind: RESUMED,
      schemaName: 'DeliveryResumeResult',
      description: 'Delivery was resumed.',
      examples: { usual: { summary: 'One NameServer.', value: { resumed: ['ns1'] } } },
    },
    async run({ dependencies, context, body }) {
      const id = body.nameserver_id ?? undefined;
      const server =
        id === undefined
          ? undefined
          : await getResource(dependencies, nameServer, context.caller, id);
      const entry = auditEntry(context, {
        at: dependencies.clock(),
        action: RESUME_RIGHT,
        type: nameServer,
        id,
        name: server === undefined ? undefined : String(server.name),
      });
      const resumed = await dependencies.delivery.resume(id, entry);
      dependencies.recording.recorded(entry);
      return { resumed };
    },
  }),
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/remove-key`,
    method: 'POST',
    right: `${nameServer.collection}:update`,
    operationId: 'remove_nameserver_key',
    summary: 'Remove an unknown key from a name server',
    description: `Removes one of the keys in \`unknown_keys\` from a ${REPORTING_UNKNOWN_KEYS} server, with its rights in all zones. The database does not have this key. Only by force does it remove a key that a zone names.`,
    type: nameServer,
    errors: ['bad_request', 'key_is_referenced'],
    body: KEY_REMOVAL_BODY,
    response: {
      kind: REQUESTED,
      schemaName: 'KeyRemovalResult',
      description: 'The next pass removes the key.',
      examples: { usual: { summary: 'The next pass removes it.', value: { requested: true } } },
    },
    async run({ dependencies, context, id, body, isForced }) {
      const server = await getResource(dependencies, nameServer, context.caller, id);
      const name = comparisonForm(body.name);
      if (!isForced) assertUnknownKeyUnreferenced(server as NameServer, name);
      const entry = entryAbout(server, 'remove-key', dependencies, context, { key: name });
      if (!(await dependencies.delivery.removeKey(id, name, entry)))
        throw new ServiceError(
          'bad_request',
          `The key '${name}' is not in 'unknown_keys' of the name server. Show them with: tsigil nameserver show`,
        );
      dependencies.recording.recorded(entry);
      return { requested: true };
    },
  }),
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/release`,
    method: 'POST',
    right: `${nameServer.collection}:update`,
    operationId: 'release_nameserver',
    summary: 'Give the keys on a name server back to its operator',
    description:
      'Pauses the delivery to the name server, and forgets which keys on it are from the service. They stay on the name server as they are, also if they are changed or deleted, until `paused` is set to false again.',
    type: nameServer,
    response: {
      kind: responseObject({
        released: described(integer(0), 'How many keys the service no longer delivers there.'),
      }),
      schemaName: 'NameServerReleaseResult',
      description: 'The service delivers nothing to the name server.',
      examples: { usual: { summary: 'The name server had 12 keys.', value: { released: 12 } } },
    },
    async run({ dependencies, context, id }) {
      const server = await updateResource(dependencies, nameServer, context, id, { paused: true });
      const entry = entryAbout(server, 'release', dependencies, context);
      const released = await dependencies.delivery.release(id, entry);
      dependencies.recording.recorded(entry);
      return { released };
    },
  }),
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/check`,
    method: 'GET',
    right: CHECK_RIGHT,
    operationId: 'check_nameserver',
    summary: 'Check the requirements of a name server',
    description:
      'Checks everything that the delivery of keys needs on the name server, and changes nothing.',
    type: nameServer,
    response: {
      kind: NAME_SERVER_CHECK,
      schemaName: 'NameServerCheck',
      description: 'The requirements.',
      examples: {
        one: {
          summary: 'One requirement that is met.',
          value: {
            requirements: [
              {
                requirement: 'The control channel accepts the key.',
                ok: true,
                problem: null,
                hint: null,
              },
            ],
          },
        },
      },
    },
    async run({ dependencies, context, id, connection }) {
      await getResource(dependencies, nameServer, context.caller, id);
      return { requirements: await connection.waitFor(() => dependencies.delivery.check(id)) };
    },
  }),
];

/** Returns the record of what a caller does with a name server besides changing its members. */
function entryAbout(
  { id, name }: Resource,
  verb: string,
  { clock }: DeliveryDependencies,
  origin: AuditOrigin,
  detail: AuditEntry['detail'] = {},
): AuditEntry {
  const action = `${nameServer.collection}:${verb}`;
  return auditEntry(origin, {
    at: clock(),
    action,
    type: nameServer,
    id,
    name: String(name),
    detail,
  });
}

/**
 * Returns the name servers that still have a deleted key. Its scope is no longer known, so a limited
 * token must include the key, or a pool or zone of these name servers. Throws `resource_not_found`.
 */
async function ofDeleted(
  { store, delivery }: DeliveryDependencies,
  { limits }: Caller,
  id: string,
): Promise<ShownDeliveries> {
  const [places = []] = await delivery.ofKeys([{ id, scope: 'POOL', resource_id: '' }]);
  const pools = places.map(({ server }) => server.pool_id);
  const isVisible = async ({ keys = [], pools: own = [], zones = [] }: Limits) =>
    keys.includes(id) ||
    pools.some((pool) => own.includes(pool)) ||
    (await store.find(zone, 'id', zones)).some((each) => pools.includes(String(each.pool_id)));
  if (places.length === 0 || (limits !== undefined && !(await isVisible(limits))))
    throw new ServiceError('resource_not_found', tsigkey);
  const versions = places.map(({ delivery: row }) => row?.deliveredVersion ?? 1);
  return deliveriesOf({ id, version: Math.max(1, ...versions) }, places);
}
