import { defineAction } from '../../resources/operations/action.ts';
import { existing, requireShown } from '../../resources/operations/visibility.ts';
import { EXPORT_FORMATS, exportKey, readPrimary, SIDES } from '../export/export-formats.ts';
import { enumeration } from '../../core/field.ts';
import { readable } from '../../core/unreadable.ts';
import { line } from '../../core/shared-fields.ts';
import { tsigkey } from '../../resources/tsigkey.ts';

const CONSUMERS = Object.entries(EXPORT_FORMATS).map(
  ([name, { consumer }]) => `\`${name}\` for ${consumer}`,
);

export const keyExport = defineAction({
  path: `/v2/${tsigkey.collection}/{id}/export`,
  method: 'GET',
  right: `${tsigkey.collection}:get`,
  operationId: 'export_tsigkey',
  summary: `Export a ${tsigkey.words.one}`,
  description:
    'Returns the key as configuration, a key file or settings for another program. Also requires the right `tsigkeys:reveal`. If the program cannot use the key, the response is 409 and states the reason.',
  type: tsigkey,
  errors: ['not_exportable', 'unreadable_secret'],
  parameters: {
    format: {
      ...enumeration(Object.keys(EXPORT_FORMATS)),
      description: `The format: ${CONSUMERS.join('; ')}.`,
      example: 'bind',
    },
    for: {
      ...enumeration(SIDES),
      description:
        'The side of a transfer that reads the text: the one that accepts requests, or a secondary server that transfers from `primary`, in the formats of name servers. The default is `primary`.',
      example: 'primary',
      isOptional: true,
    },
    primary: {
      ...line(60),
      description:
        'With `for=secondary`: the IPv4 or IPv6 address of the primary server, also with a port, as in `[2001:db8::53]:5300`.',
      example: '192.0.2.53',
      isOptional: true,
    },
    zone: {
      ...line(254),
      description:
        'With `for=secondary`: the zone to transfer. Without it, the text has an example as a comment.',
      example: 'example.org',
      isOptional: true,
    },
  },
  file: {
    description: 'The exported key as a text file.',
    extensions: Object.values(EXPORT_FORMATS).map(({ extension }) => extension),
  },
  async run({ dependencies, context, id, parameters }) {
    requireShown(dependencies, context.caller, tsigkey);
    const { recording, store } = dependencies;
    const primary = readPrimary(parameters.format, parameters);
    const found = await store.get(tsigkey, id);
    const { name, algorithm, secret } = await existing(store, tsigkey, context.caller, found);
    const file = exportKey(
      parameters.format,
      { name, algorithm, secret: readable(secret) },
      primary,
    );
    await recording.secretsRead({
      caller: context.caller,
      source: context.source,
      action: `${tsigkey.collection}:export`,
      type: tsigkey,
      id,
      name,
      count: 1,
      format: parameters.format,
      isAlways: context.caller.session !== undefined,
      origin: () => context,
    });
    return file;
  },
});
