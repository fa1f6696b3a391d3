import { EXPORT_FORMATS, exportKey } from '../../domain/key-formats/formats.ts';
import type { Key } from '../../domain/key-formats/key.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import type { Content, Paths } from './document.ts';
import { commonParameters, idParameter } from './parameters.ts';
import { ERRORS_WITH_TOKEN, errorResponses, headers, type ApiSettings } from './responses.ts';

const EXAMPLE: Key = {
  name: tsigkey.fields.name.example,
  algorithm: tsigkey.fields.algorithm.example,
  secret: tsigkey.fields.secret.example,
};

/** The path at which a key is written out for a consumer. */
export function keyExportPath(settings: ApiSettings): Paths {
  return {
    [`/v2/${tsigkey.collection}/{id}/export`]: {
      parameters: [idParameter(tsigkey), ...commonParameters(settings.requestIdHeader)],
      get: {
        operationId: 'export_tsigkey',
        summary: `Export a ${tsigkey.title}`,
        description: `The key as the configuration, key file or settings of a consumer. A key that the consumer could not use is refused with the reason.\n\nNeeds the right \`${tsigkey.collection}:get\`.`,
        tags: [tsigkey.collection],
        security: [{ token: [] }, { bearer: [] }],
        parameters: [
          {
            name: 'format',
            in: 'query',
            required: true,
            description: `What to write: ${Object.entries(EXPORT_FORMATS)
              .map(([name, { consumer }]) => `\`${name}\` for ${consumer}`)
              .join('; ')}.`,
            schema: { type: 'string', enum: Object.keys(EXPORT_FORMATS) },
            example: 'bind',
          },
        ],
        responses: {
          200: {
            description: 'The text, as a file to be saved.',
            headers: headers(settings, 'Content-Disposition'),
            content: contents(),
          },
          ...errorResponses(settings, tsigkey, [...ERRORS_WITH_TOKEN, 'invalid_uuid', 'resource_not_found', 'not_exportable']),
        },
      },
    },
  };
}

/** The media types of all forms, each with an example of every form that has it. */
function contents(): Content {
  const content: Record<string, Content[string]> = {};
  for (const [name, { mediaType, consumer }] of Object.entries(EXPORT_FORMATS)) {
    const { text } = exportKey(name, EXAMPLE);
    const isJson = mediaType === 'application/json';
    const example = { summary: `For ${consumer}.`, value: isJson ? (JSON.parse(text) as unknown) : text };
    const schema = { type: isJson ? 'object' : 'string' };
    content[mediaType] = { schema, examples: { ...content[mediaType]?.examples, [name]: example } };
  }
  return content;
}
