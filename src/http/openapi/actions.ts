import type { ErrorCode } from '../../domain/model/errors.ts';
import type { JsonSchema } from '../../domain/model/field.ts';
import {
  readActionBody,
  type Action,
  type ActionBody,
  type ActionFiles,
  type ActionGroup,
  type ActionLines,
} from '../../domain/actions/action.ts';
import type {
  Content,
  OperationObject,
  ParameterObject,
  Paths,
  ResponseObject,
} from './document.ts';
import { thrownBy } from './examples.ts';
import { commonParameters, idParameter, unlessKnown } from './parameters.ts';
import { LINES_TYPE } from '../request/errors.ts';
import {
  ERRORS_WITH_TOKEN,
  ETAG,
  errorResponses,
  headers,
  json,
  notModified,
  type ApiSettings,
} from './responses.ts';
import { withDefaultsInWords } from './request-schema.ts';
import { schemaReference } from './schemas.ts';

const ID_ERRORS: readonly ErrorCode[] = ['invalid_uuid', 'resource_not_found'];
const BODY_ERRORS: readonly ErrorCode[] = [
  'unsupported_content_type',
  'empty_request_body',
  'invalid_json',
  'invalid_object',
];

/** Returns the paths of actions. */
export function actionPaths(settings: ApiSettings, actions: readonly Action[]): Paths {
  return Object.fromEntries(
    actions.map((action) => {
      const id = hasId(action) ? [idParameter(action.type)] : [];
      const parameters = [...id, ...commonParameters(settings.requestIdHeader)];
      return [
        action.path,
        { parameters, [action.method.toLowerCase()]: describeAction(settings, action) },
      ];
    }),
  );
}

/** Returns the schemas of the bodies and responses of actions, by name. */
export function actionSchemas(actions: readonly Action[]): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    actions.flatMap((action): [string, JsonSchema][] => {
      const { body } = action;
      const request: [string, JsonSchema][] =
        body === undefined ? [] : [[body.schemaName, withDefaultsInWords(body.kind.schema)]];
      if (!('response' in action)) return request;
      return [...request, [action.response.schemaName, action.response.kind.schema]];
    }),
  );
}

function describeAction(settings: ApiSettings, action: Action): OperationObject {
  const { operationId, summary, description, right, type, body, parameters, errors = [] } = action;
  const codes = [
    ...ERRORS_WITH_TOKEN,
    ...(hasId(action) ? ID_ERRORS : []),
    ...(body === undefined ? [] : BODY_ERRORS),
    ...errors,
  ];
  return {
    operationId,
    summary,
    description: `${description}\n\n${right === undefined ? 'Needs a valid token.' : `Needs the right \`${right}\`.`}`,
    tags: [action.group?.name ?? type.collection],
    security: [{ token: [] }, { bearer: [] }],
    ...(parameters === undefined
      ? {}
      : { parameters: [...describeParameters(parameters), ...conditionOf(action)] }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: json(schemaReference(body.schemaName), body.examples),
          },
        }),
    responses: {
      200: describeSuccess(settings, action),
      ...('isConditional' in action ? { 304: notModified(settings) } : {}),
      ...errorResponses(
        settings,
        type,
        codes,
        body === undefined ? {} : { invalid_object: emptyBodyError(body) },
      ),
    },
  };
}

/** Returns the `If-None-Match` parameter of a conditional action, or nothing for other actions. */
function conditionOf(action: Action): ParameterObject[] {
  return 'isConditional' in action ? [unlessKnown(ETAG)] : [];
}

function hasId({ path }: Action): boolean {
  return path.includes('{id}');
}

function describeParameters(parameters: NonNullable<Action['parameters']>): ParameterObject[] {
  return Object.entries(parameters).map(
    ([name, { schema, description, example, isOptional = false }]) => {
      return { name, in: 'query', required: !isOptional, description, schema, example };
    },
  );
}

/** Returns the error for a body without members, or for an array if no member is required. */
function emptyBodyError(body: ActionBody) {
  const invalid = 'value' in body.kind.parse({}) ? [] : {};
  return thrownBy(() => readActionBody(body, invalid));
}

function describeSuccess(settings: ApiSettings, action: Action): ResponseObject {
  if ('file' in action) {
    return {
      description: action.file.description,
      headers: headers(settings, 'Content-Disposition'),
      content: describeFiles(action.file),
    };
  }
  if (!('response' in action))
    return {
      description: action.lines.description,
      headers: headers(settings),
      content: describeLines(action.lines),
    };
  const { description, schemaName, examples } = action.response;
  return {
    description,
    headers: headers(settings, ...('isConditional' in action ? ['ETag'] : [])),
    content: {
      ...json(schemaReference(schemaName), examples),
      ...describeLines('lines' in action ? action.lines : undefined),
    },
  };
}

/** Returns the content of a response in JSON lines. */
function describeLines(lines: ActionLines | undefined): Content {
  if (lines === undefined) return {};
  const value = `${JSON.stringify(lines.example)}\n`;
  return {
    [LINES_TYPE]: {
      schema: { type: 'string', description: lines.description },
      examples: { line: { summary: 'One line.', value } },
    },
  };
}

/** Returns the groups of actions, in order. */
export function actionGroups(actions: readonly Action[]): readonly ActionGroup[] {
  return [...new Set(actions.flatMap(({ group }) => group ?? []))];
}

/** Returns the media types of all files, each with its examples. */
function describeFiles(files: ActionFiles): Content {
  const content: Record<string, Content[string]> = {};
  for (const [name, { summary, value: file }] of Object.entries(files.examples())) {
    const isJson = file.mediaType === 'application/json';
    const value: unknown = isJson ? JSON.parse(file.text) : file.text;
    const example = { summary, value };
    const schema = isJson
      ? { type: ['object', 'array'], items: { type: 'object' } }
      : { type: 'string' };
    content[file.mediaType] = {
      schema,
      examples: { ...content[file.mediaType]?.examples, [name]: example },
    };
  }
  return content;
}
