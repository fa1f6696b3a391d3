import type { DeliveryStatus } from '../delivery/ports.ts';
import { DELIVERIES, NAME_SERVER_CHECK } from '../delivery/responses.ts';
import { deliveriesOf, type ShownDeliveries } from '../delivery/status.ts';
import { ServiceError } from '../model/errors.ts';
import { boolean, integer } from '../model/field.ts';
import { described, object, responseObject, withDefault } from '../model/object.ts';
import { getResource } from '../operations/collection.ts';
import type { Dependencies } from '../operations/change.ts';
import { nameServer } from '../resources/name-server.ts';
import { tsigkey, type Tsigkey } from '../resources/tsigkey.ts';
import { defineAction } from './action.ts';

/** The longest time that a request waits for a delivery, in seconds. */
const MAX_WAIT_SECONDS = 30;

/** How often a waiting request reads the status without a notification, in milliseconds. */
const RECHECK_MS = 500;

/** The maximum number of requests that wait. Others get the present status at once. */
const MAX_WAITING = 200;

const EXAMPLE: ShownDeliveries = {
  key_id: '3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
  state: 'delivered',
  version: 3,
  servers: [
    {
      ...{ name_server: 'ns1', state: 'delivered', delivered_version: 3 },
      ...{ applied_at: '2030-01-31T12:00:00.000000', verified_at: '2030-01-31T12:00:00.200000' },
      ...{ attempts: 0, next_attempt_at: null, error: null },
    },
  ],
};

const wait = {
  ...integer(0, MAX_WAIT_SECONDS),
  description: 'How many seconds to wait until no name server is pending.',
  example: '5',
  isOptional: true,
} as const;

let waiting = 0;

/** The states of delivery, for callers. */
export const DELIVERY_ACTIONS = [
  defineAction({
    path: `/v2/${tsigkey.collection}/{id}/deliveries`,
    method: 'GET',
    right: `${tsigkey.collection}:get`,
    operationId: 'list_tsigkey_deliveries',
    summary: 'Show on which name servers a TsigKey works',
    description:
      'Returns the state of the key on each name server of its pool. With `wait`, responds when no name server is pending, or after that time.',
    type: tsigkey,
    parameters: { wait },
    response: {
      kind: described(DELIVERIES, 'A key on its name servers.'),
      schemaName: 'TsigKeyDeliveries',
      description: 'The deliveries.',
      examples: { one: { summary: 'One name server.', value: EXAMPLE } },
    },
    async run({ dependencies, context, id, parameters, releaseConnection }) {
      const delivery = deliveryOf(dependencies);
      const read = async () => {
        const key = (await getResource(dependencies, tsigkey, context.caller, id)) as Tsigkey;
        return deliveriesOf(key, await delivery.ofKey(key));
      };
      const until = delivery.milliseconds() + (parameters.wait ?? 0) * 1000;
      let shown = await read();
      if (waiting >= MAX_WAITING) return shown;
      waiting += 1;
      try {
        while (isPending(shown) && delivery.milliseconds() < until) {
          releaseConnection();
          await delivery.changed(
            Math.min(RECHECK_MS, Math.max(1, until - delivery.milliseconds())),
          );
          shown = await read();
        }
      } finally {
        waiting -= 1;
      }
      return shown;
    },
  }),
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/reconcile`,
    method: 'POST',
    right: `${nameServer.collection}:update`,
    operationId: 'reconcile_nameserver',
    summary: 'Compare a NameServer with its keys now',
    description:
      'Starts the next attempt at once, and verifies all keys. With `confirm`, also removes many keys from a name server whose state is `blocked`.',
    type: nameServer,
    body: {
      kind: object({
        confirm: withDefault(
          described(boolean(), 'Whether to remove many keys if the state is `blocked`.'),
          false,
        ),
      }),
      schemaName: 'Reconcile',
      what: 'request',
      examples: { usual: { summary: 'Without confirmation.', value: { confirm: false } } },
    },
    response: {
      kind: responseObject({ requested: described(boolean(), 'Always true.') }),
      schemaName: 'ReconcileResult',
      description: 'The attempt is due.',
      examples: { usual: { summary: 'The attempt is due.', value: { requested: true } } },
    },
    async run({ dependencies, context, id, body }) {
      await getResource(dependencies, nameServer, context.caller, id);
      await deliveryOf(dependencies).request(id, body.confirm);
      return { requested: true };
    },
  }),
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/check`,
    method: 'GET',
    right: `${nameServer.collection}:get`,
    operationId: 'check_nameserver',
    summary: 'Check the requirements of a NameServer',
    description:
      'Checks everything that the delivery of keys needs on the name server, and changes nothing.',
    type: nameServer,
    response: {
      kind: NAME_SERVER_CHECK,
      schemaName: 'NameServerCheck',
      description: 'The requirements.',
      examples: {
        one: {
          summary: 'One requirement, which is met.',
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
    async run({ dependencies, context, id, releaseConnection }) {
      await getResource(dependencies, nameServer, context.caller, id);
      releaseConnection();
      return { requirements: await deliveryOf(dependencies).check(id) };
    },
  }),
];

function isPending({ servers }: ShownDeliveries): boolean {
  return servers.some(({ state }) => state === 'pending' || state === 'removing');
}

function deliveryOf({ delivery }: Dependencies): DeliveryStatus {
  if (delivery === undefined)
    throw new ServiceError('unavailable', 'The state of delivery is not available');
  return delivery;
}
