import type { Action, ActionLines } from '../../resources/operations/action.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { Operation, ResourceType } from '../../core/resource.ts';
import { secretFields } from '../../core/response.ts';
import { capitalised } from '../../core/text/capitalised.ts';
import { WARNING_HEADER } from '../request/context.ts';
import { LINES_TYPE, mediaTypeOf } from '../request/errors.ts';
import { OPERATION_ROUTES } from '../request/routes.ts';
import type {
  Content,
  Examples,
  OperationObject,
  OrReference,
  ParameterObject,
  PathItem,
  Paths,
  Responses,
} from './document.ts';
import {
  CONTEXT_PARAMETERS,
  forceParameters,
  idParameter,
  listParameters,
  ONLY_IF_UNCHANGED,
  secretParameters,
  UNLESS_KNOWN,
} from './parameters.ts';
import {
  errorResponses,
  ERRORS_WITH_TOKEN,
  json,
  response,
  responseReference,
  typeNameOf,
} from './responses.ts';
import { requestSchema, responseSchema, schemaReference } from './schemas.ts';

const ID_ERRORS: readonly ErrorCode[] = ['invalid_uuid', 'resource_not_found'];

const BODY_ERRORS: readonly ErrorCode[] = [
  'unsupported_content_type',
  'unsupported_content_encoding',
  'empty_request_body',
  'invalid_json',
  'invalid_object',
];

const NOT_MODIFIED: Responses = { 304: responseReference(304) };

/** What the operations on a collection and the actions state about themselves. */
interface Described {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  /** The right that a caller needs, besides a valid token. */
  readonly right?: string | undefined;
  readonly parameters: readonly OrReference<ParameterObject>[];
  readonly body?: { readonly schemaName: string; readonly examples?: Examples } | undefined;
  readonly successes: Responses;
  /** The errors, in addition to those of every request with a token, an id or a body. */
  readonly errors: readonly ErrorCode[];
}

function describeOperation(type: ResourceType, operation: Described): OperationObject {
  const { path, operationId, summary, description, tag, right, body, errors } = operation;
  const need = right === undefined ? 'Needs a valid token.' : `Needs the right \`${right}\`.`;
  const own = errors.map((code) => `\`${typeNameOf(code, type)}\``).join(', ');
  const content = body && json(schemaReference(body.schemaName), body.examples);
  return {
    operationId,
    summary,
    description: `${description}\n\n${need}${own === '' ? '' : `\n\nErrors of its own: ${own}.`}`,
    tags: [tag],
    security: [{ token: [] }, { bearer: [] }],
    parameters: operation.parameters,
    ...(content === undefined ? {} : { requestBody: { required: true, content } }),
    responses: {
      ...operation.successes,
      ...errorResponses([
        ...ERRORS_WITH_TOKEN,
        ...(path.includes('{id}') ? ID_ERRORS : []),
        ...(body === undefined ? [] : BODY_ERRORS),
        ...errors,
      ]),
    },
  };
}

/** The parts of an operation's description that are the same for every collection. */
interface OperationNote {
  readonly description: string;
  readonly status: number;
  readonly response: string;
  readonly errors: readonly ErrorCode[];
}

const NOTES: Readonly<Record<Operation, OperationNote>> = {
  create: {
    description:
      'Returns 400 for unknown members and for members that only the service sets. The response to an invalid body lists every problem.',
    status: 201,
    response: 'Created: the new resource.',
    errors: ['duplicate'],
  },
  list: {
    description:
      'Returns a page of the resources that match every filter. To list all resources, follow `links.next` until a page has no such link. Each resource is listed once, even if other resources are created or deleted meanwhile. A page of large resources may contain fewer resources than `limit`. Returns 400 for parameters that are not listed here.',
    status: 200,
    response: 'The page.',
    errors: [
      'invalid_limit',
      'invalid_marker',
      'invalid_sort_dir',
      'invalid_sort_key',
      'marker_not_found',
    ],
  },
  get: {
    description:
      'Returns the resource with this id. Its `ETag` identifies this revision of the resource.',
    status: 200,
    response: 'The resource.',
    errors: [],
  },
  update: {
    description: 'Changes only the members in the body. Sets `updated_at` even if nothing changes.',
    status: 200,
    response: 'Updated: the resource after the change.',
    errors: ['duplicate', 'precondition_failed'],
  },
  delete: {
    description: 'Deletes the resource immediately and permanently.',
    status: 204,
    response: 'Deleted. If the response has a body, it is the resource before its deletion.',
    errors: ['precondition_failed'],
  },
};

export function apiPaths(types: readonly ResourceType[], actions: readonly Action[]): Paths {
  const paths: Record<string, PathItem> = {};
  const add = (path: string, method: string, type: ResourceType, operation: OperationObject) => {
    const id = path.includes('{id}') ? [idParameter(type)] : [];
    const parameters = [...id, ...CONTEXT_PARAMETERS];
    paths[path] = { parameters, ...paths[path], [method.toLowerCase()]: operation };
  };
  for (const type of types)
    for (const operation of type.operations) {
      const { method, onItem } = OPERATION_ROUTES[operation];
      const path = `/v2/${type.collection}${onItem ? '/{id}' : ''}`;
      add(path, method, type, ofCollection(type, operation, path));
    }
  for (const action of actions) add(action.path, action.method, action.type, ofAction(action));
  return paths;
}

function ofCollection(type: ResourceType, operation: Operation, path: string): OperationObject {
  const { collection, noun, words, refusals } = type;
  const { description, errors } = NOTES[operation];
  const verb = capitalised(operation);
  const schemaName = requestSchema(type, operation);
  const showsSecret =
    ['list', 'get', 'update'].includes(operation) && secretFields(type).length > 0;
  return describeOperation(type, {
    path,
    operationId: `${operation}_${operation === 'list' ? collection : noun}`,
    summary: operation === 'list' ? `${verb} ${words.many}` : `${verb} a ${words.one}`,
    description,
    tag: collection,
    right: `${collection}:${operation}`,
    parameters: parametersOf(type, operation),
    body: schemaName === undefined ? undefined : { schemaName },
    successes: successes(type, operation),
    errors: [
      ...errors,
      ...(refusals?.[operation] ?? []),
      ...(showsSecret ? (['unreadable_secret'] as const) : []),
    ],
  });
}

function parametersOf(type: ResourceType, operation: Operation): OrReference<ParameterObject>[] {
  if (operation === 'list') return listParameters(type);
  if (operation === 'get') return [...secretParameters(type), UNLESS_KNOWN];
  return operation === 'create'
    ? []
    : [...forceParameters(type.refusals?.[operation]), ONLY_IF_UNCHANGED];
}

function successes(type: ResourceType, operation: Operation): Responses {
  const { statuses, pending, warnings } = type;
  const note = NOTES[operation];
  const isOneOf = (...operations: Operation[]) => operations.includes(operation);
  const headers = [
    ...(operation === 'create' ? ['Location'] : []),
    ...(warnings !== undefined && isOneOf('create', 'update') ? [WARNING_HEADER] : []),
  ];
  const tagged = isOneOf('get', 'update') ? ['ETag', ...headers] : headers;
  const schema = responseSchema(type, operation);
  const content = schema === undefined ? undefined : json(schemaReference(schema));
  const members = pending?.[operation];
  const inProgress = `${note.response} Only with the setting \`compatibility: designate\`, which then always gives this response, with ${JSON.stringify(members)}.`;
  return {
    [statuses?.[operation] ?? note.status]: response(note.response, tagged, content),
    ...(operation === 'get' ? NOT_MODIFIED : {}),
    ...(members === undefined ? {} : { 202: response(inProgress, headers, content) }),
  };
}

function ofAction(action: Action): OperationObject {
  const { type, body, parameters = {}, errors = [] } = action;
  const isConditional = 'isConditional' in action;
  return describeOperation(type, {
    ...action,
    tag: action.group?.name ?? type.collection,
    parameters: [
      ...Object.entries(parameters).map(
        ([name, { schema, description, example, isOptional = false }]): ParameterObject => {
          return { name, in: 'query', required: !isOptional, description, schema, example };
        },
      ),
      ...forceParameters(errors),
      ...(isConditional ? [UNLESS_KNOWN] : []),
      ...('tagged' in action && body !== undefined ? [ONLY_IF_UNCHANGED] : []),
    ],
    successes: { ...successOf(action), ...(isConditional ? NOT_MODIFIED : {}) },
    errors,
  });
}

function successOf(action: Action): Responses {
  if ('file' in action) {
    const { description, extensions } = action.file;
    const types = extensions.map(mediaTypeOf);
    const content = Object.fromEntries(types.map((mediaType) => [mediaType, { schema: {} }]));
    return { 200: response(description, ['Content-Disposition'], content) };
  }
  if ('creates' in action) {
    const content = json(schemaReference(responseSchema(action.type, 'create') ?? ''));
    return { 201: response(action.creates.description, ['Location', WARNING_HEADER], content) };
  }
  if ('empty' in action) return { 204: response(action.empty.description) };
  if (!('response' in action))
    return { 200: response(action.lines.description, [], describeLines(action.lines)) };
  const { description, schemaName, examples } = action.response;
  const hasTag = 'isConditional' in action || 'tagged' in action;
  const content = {
    ...json(schemaReference(schemaName), examples),
    ...('lines' in action ? describeLines(action.lines) : {}),
  };
  return { 200: response(description, hasTag ? ['ETag'] : [], content) };
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
