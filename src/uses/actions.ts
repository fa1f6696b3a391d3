import { KEY_USES, USES_EXAMPLE, usesOf } from './key-uses.ts';
import type { UseReader } from './ports.ts';
import { described } from '../core/object.ts';
import type { DeliveryStatus } from '../delivery/delivery-ports.ts';
import { existing } from '../resources/operations/visibility.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { actionsWith, type ActionDependencies } from '../resources/operations/action.ts';

export interface UsesDependencies extends ActionDependencies {
  readonly delivery: Pick<DeliveryStatus, 'statuses' | 'ofKeys'>;
  readonly uses: Pick<UseReader, 'uses'>;
}

const defineAction = actionsWith<UsesDependencies>();

export const keyUsesAction = defineAction({
  path: `/v2/${tsigkey.collection}/{id}/uses`,
  method: 'GET',
  right: `${tsigkey.collection}:get`,
  operationId: 'list_tsigkey_uses',
  summary: 'Show who uses a TSIG key',
  description:
    'Returns what the logs of the name servers show of the key, without the queries by which Tsigil verifies keys.',
  type: tsigkey,
  response: {
    kind: described(KEY_USES, 'The uses of a key on its name servers.'),
    schemaName: 'TsigKeyUses',
    description: 'The uses.',
    examples: { one: { summary: 'One name server.', value: USES_EXAMPLE } },
  },
  async run({ dependencies: { store, delivery, uses: reader, clock }, context, id }) {
    const key = await existing(store, tsigkey, context.caller, await store.get(tsigkey, id));
    const [servers = []] = await delivery.ofKeys([key]);
    const uses = await reader.uses(
      [key.id],
      servers.map(({ server }) => server.id),
    );
    return usesOf(key.id, servers, uses, clock());
  },
});
