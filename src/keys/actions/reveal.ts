import { defineAction } from '../../resources/operations/action.ts';
import { existing, requireShown } from '../../resources/operations/visibility.ts';
import { anyText } from '../../core/field.ts';
import { described, responseObject } from '../../core/object.ts';
import { readable } from '../../core/unreadable.ts';
import { tsigkey } from '../../resources/tsigkey.ts';

/** Returns the secret of one key, after the audit trail has a record of it. */
export const keyReveal = defineAction({
  path: `/v2/${tsigkey.collection}/{id}/reveal`,
  method: 'POST',
  right: `${tsigkey.collection}:get`,
  operationId: 'reveal_tsigkey',
  summary: `Reveal the secret of a ${tsigkey.words.one}`,
  description:
    'Returns the secret. Also requires the right `tsigkeys:reveal`. The audit trail gets a record before the response, whatever `audit.secretReads` says. The web console uses this request, because its sessions get no secrets in other responses.',
  type: tsigkey,
  errors: ['unreadable_secret'],
  response: {
    kind: responseObject({ secret: described(anyText(), 'The secret, in base64.') }),
    schemaName: 'TsigkeySecret',
    description: 'The secret.',
    examples: {
      one: { summary: 'A secret.', value: { secret: tsigkey.fields.secret.example } },
    },
  },
  async run({ dependencies, context, id }) {
    const { recording, store } = dependencies;
    requireShown(dependencies, context.caller, tsigkey);
    const found = await store.get(tsigkey, id);
    const { name, secret } = await existing(store, tsigkey, context.caller, found);
    const shown = readable(secret);
    await recording.secretsRead({
      caller: context.caller,
      source: context.source,
      action: `${tsigkey.collection}:reveal`,
      type: tsigkey,
      id,
      name,
      count: 1,
      isAlways: true,
      origin: () => context,
    });
    return { secret: shown };
  },
});
