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
import { responseExamples, thrownBy } from './examples.ts';
import {
  commonParameters,
  forceParameters,
  idParameter,
  onlyIfUnchanged,
  unlessKnown,
} from './parameters.ts';
import { WARNING_HEADER } from '../request/context.ts';
import { LINES_TYPE, mediaTypeOf } from '../request/errors.ts';
import {
  BODY_ERRORS,
  describeOperation,
  ETAG,
  headers,
  ID_ERRORS,
  json,
  type ApiSettings,
} from './responses.ts';
import { schemaNames, schemaReference, withDefaultsInWords } from './schemas.ts';

export function actionPaths(settings: ApiSettings, actions: readonly Action[]): Paths {
  const paths: Record<string, Paths[string]> = {};
  for (const action of actions) {
    const id = hasId(action) ? [idParameter(action.type)] : [];
    paths[action.path] = {
      ...paths[action.path],
      parameters: [...id, ...commonParameters()],
      [action.method.toLowerCase()]: describeAction(settings, action),
    };
  }
  return paths;
}

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
  const { type, body, parameters, errors = [] } = action;
  const isConditional = 'isConditional' in action;
  return describeOperation(settings, type, {
    ...action,
    tag: action.group?.name ?? type.collection,
    parameters: [
      ...describeParameters(parameters ?? {}),
      ...forceParameters(errors),
      ...(isConditional ? [unlessKnown(ETAG)] : []),
      ...(isTagged(action) && body !== undefined ? [onlyIfUnchanged(ETAG)] : []),
    ],
    body,
    status: statusOf(action),
    success: describeSuccess(settings, action),
    isConditional,
    errors: [
      ...(hasId(action) ? ID_ERRORS : []),
      ...(body === undefined ? [] : BODY_ERRORS),
      ...errors,
    ],
    ...(body === undefined ? {} : { ownErrors: { invalid_object: emptyBodyError(body) } }),
  });
}

function isTagged(action: Action): boolean {
  return 'tagged' in action;
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

function statusOf(action: Action): number {
  if ('creates' in action) return 201;
  return 'empty' in action ? 204 : 200;
}

function describeSuccess(settings: ApiSettings, action: Action): ResponseObject {
  if ('file' in action) {
    return {
      description: action.file.description,
      headers: headers('Content-Disposition'),
      content: describeFiles(action.file),
    };
  }
  if ('creates' in action) {
    const { response = '' } = schemaNames(action.type, 'create');
    return {
      description: action.creates.description,
      headers: headers('Location', WARNING_HEADER),
      content: json(schemaReference(response), responseExamples(action.type, 'create', settings)),
    };
  }
  if ('empty' in action) return { description: action.empty.description, headers: headers() };
  if (!('response' in action))
    return {
      description: action.lines.description,
      headers: headers(),
      content: describeLines(action.lines),
    };
  const { description, schemaName, examples } = action.response;
  return {
    description,
    headers: headers(...('isConditional' in action || isTagged(action) ? ['ETag'] : [])),
    content: {
      ...json(schemaReference(schemaName), examples),
      ...describeLines('lines' in action ? action.lines : undefined),
    },
  };
}

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
    const mediaType = mediaTypeOf(file.fileName);
    const isJson = mediaType === 'application/json';
    const value: unknown = isJson ? JSON.parse(file.text) : file.text;
    const example = { summary, value };
    const schema = isJson
      ? { type: ['object', 'array'], items: { type: 'object' } }
      : { type: 'string' };
    content[mediaType] = {
      schema,
      examples: { ...content[mediaType]?.examples, [name]: example },
    };
  }
  return content;
}
