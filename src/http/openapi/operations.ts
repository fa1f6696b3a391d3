import type { Action, ActionLines } from '../../domain/actions/action.ts';
import type { ErrorCode } from '../../domain/model/errors.ts';
import type { Operation, ResourceType } from '../../domain/model/resource.ts';
import { secretFields } from '../../domain/model/response.ts';
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
  ResponseObject,
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
  headers,
  json,
  responseReference,
  typeNameOf,
} from './responses.ts';
import { exampleBody, requestSchema, responseSchema, schemaReference } from './schemas.ts';

const ID_ERRORS: readonly ErrorCode[] = ['invalid_uuid', 'resource_not_found'];

const BODY_ERRORS: readonly ErrorCode[] = [
  'unsupported_content_type',
  'unsupported_content_encoding',
  'empty_request_body',
  'invalid_json',
  'invalid_object',
];

/** What the operations on a collection and the actions state about themselves. */
interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  /** The right that a caller needs, besides a valid token. */
  readonly right?: string | undefined;
  readonly parameters: readonly OrReference<ParameterObject>[];
  readonly body?: { readonly schemaName: string; readonly examples: Examples } | undefined;
  readonly successes: Responses;
  readonly onItem: boolean;
  /** The errors, in addition to those of every request with a token, an id or a body. */
  readonly errors: readonly ErrorCode[];
}

function describeOperation(type: ResourceType, operation: Described): OperationObject {
  const { operationId, summary, description, tag, right, parameters, body } = operation;
  const { successes, onItem, errors } = operation;
  const need = right === undefined ? 'Needs a valid token.' : `Needs the right \`${right}\`.`;
  const own = errors.map((code) => `\`${typeNameOf(code, type)}\``).join(', ');
  const content = body && json(schemaReference(body.schemaName), body.examples);
  return {
    operationId,
    summary,
    description: `${description}\n\n${need}${own === '' ? '' : `\n\nErrors of its own: ${own}.`}`,
    tags: [tag],
    security: [{ token: [] }, { bearer: [] }],
    parameters,
    ...(content === undefined ? {} : { requestBody: { required: true, content } }),
    responses: {
      ...successes,
      ...errorResponses([
        ...ERRORS_WITH_TOKEN,
        ...(onItem ? ID_ERRORS : []),
        ...(body === undefined ? [] : BODY_ERRORS),
        ...errors,
      ]),
    },
  };
}

/** The parts of an operation's description that are the same for every collection. */
interface OperationNote {
  summary(words: ResourceType['words']): string;
  readonly description: string;
  readonly status: number;
  readonly response: string;
  readonly errors: readonly ErrorCode[];
}

const NOTES: Readonly<Record<Operation, OperationNote>> = {
  create: {
    summary: ({ one }) => `Create a ${one}`,
    description:
      'Returns 400 for unknown members and for members that only the service sets. The response to an invalid body lists every problem.',
    status: 201,
    response: 'Created: the new resource.',
    errors: ['duplicate'],
  },
  list: {
    summary: ({ many }) => `List ${many}`,
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
    summary: ({ one }) => `Get a ${one}`,
    description:
      'Returns the resource with this id. Its `ETag` identifies this revision of the resource.',
    status: 200,
    response: 'The resource.',
    errors: [],
  },
  update: {
    summary: ({ one }) => `Update a ${one}`,
    description: 'Changes only the members in the body. Sets `updated_at` even if nothing changes.',
    status: 200,
    response: 'Updated: the resource after the change.',
    errors: ['duplicate', 'precondition_failed'],
  },
  delete: {
    summary: ({ one }) => `Delete a ${one}`,
    description: 'Deletes the resource immediately and permanently.',
    status: 204,
    response: 'Deleted. If the response has a body, it is the resource before its deletion.',
    errors: ['precondition_failed'],
  },
};

const OWN =
  ' A caller sees only the resources of its project, unless the request covers all projects.';

export function collectionPaths(type: ResourceType): Paths {
  const paths: Record<string, PathItem> = {};
  for (const operation of type.operations) {
    const { method, onItem } = OPERATION_ROUTES[operation];
    const path = `/v2/${type.collection}${onItem ? '/{id}' : ''}`;
    paths[path] = {
      ...paths[path],
      parameters: [...(onItem ? [idParameter(type)] : []), ...CONTEXT_PARAMETERS],
      [method.toLowerCase()]: ofCollection(type, operation, onItem),
    };
  }
  return paths;
}

function ofCollection(type: ResourceType, operation: Operation, onItem: boolean): OperationObject {
  const { collection, noun, words, owner, refusals } = type;
  const { summary, description, errors } = NOTES[operation];
  const schemaName = requestSchema(type, operation);
  const examples = {
    example: {
      summary: operation === 'update' ? 'One member.' : 'Every member.',
      value: exampleBody(type, operation),
    },
  };
  const showsSecret =
    ['list', 'get', 'update'].includes(operation) && secretFields(type).length > 0;
  return describeOperation(type, {
    operationId: `${operation}_${operation === 'list' ? collection : noun}`,
    summary: summary(words),
    description: `${description}${owner === undefined || operation === 'create' ? '' : OWN}`,
    tag: collection,
    right: `${collection}:${operation}`,
    parameters: parametersOf(type, operation),
    body: schemaName === undefined ? undefined : { schemaName, examples },
    successes: successes(type, operation),
    onItem,
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

type Responses = Readonly<Record<number, OrReference<ResponseObject>>>;

function success(
  status: number,
  description: string,
  headerNames: readonly string[],
  content?: Content,
): Responses {
  const described = { description, headers: headers(...headerNames) };
  return { [status]: content === undefined ? described : { ...described, content } };
}

const NOT_MODIFIED: Responses = { 304: responseReference(304) };

function successes(type: ResourceType, operation: Operation): Responses {
  const { statuses, pending, warnings } = type;
  const { status, response } = NOTES[operation];
  const isOneOf = (...operations: Operation[]) => operations.includes(operation);
  const names = [
    ...(operation === 'create' ? ['Location'] : []),
    ...(warnings !== undefined && isOneOf('create', 'update') ? [WARNING_HEADER] : []),
  ];
  const tagged = isOneOf('get', 'update') ? ['ETag', ...names] : names;
  const schema = responseSchema(type, operation);
  const content = schema === undefined ? undefined : json(schemaReference(schema));
  const members = pending?.[operation];
  const inProgress = `${response} Only with the setting \`compatibility: designate\`, which then always gives this response, with ${JSON.stringify(members)}.`;
  return {
    ...success(statuses?.[operation] ?? status, response, tagged, content),
    ...(operation === 'get' ? NOT_MODIFIED : {}),
    ...(members === undefined ? {} : success(202, inProgress, names, content)),
  };
}

export function actionPaths(actions: readonly Action[]): Paths {
  const paths: Record<string, PathItem> = {};
  for (const action of actions) {
    const id = hasId(action) ? [idParameter(action.type)] : [];
    paths[action.path] = {
      ...paths[action.path],
      parameters: [...id, ...CONTEXT_PARAMETERS],
      [action.method.toLowerCase()]: ofAction(action),
    };
  }
  return paths;
}

function hasId({ path }: Action): boolean {
  return path.includes('{id}');
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
    onItem: hasId(action),
    errors,
  });
}

function successOf(action: Action): Responses {
  if ('file' in action) {
    const { description, extensions } = action.file;
    const content = Object.fromEntries(extensions.map(describeFile));
    return success(200, description, ['Content-Disposition'], content);
  }
  if ('creates' in action) {
    const content = json(schemaReference(responseSchema(action.type, 'create') ?? ''));
    return success(201, action.creates.description, ['Location', WARNING_HEADER], content);
  }
  if ('empty' in action) return success(204, action.empty.description, []);
  if (!('response' in action)) {
    return success(200, action.lines.description, [], describeLines(action.lines));
  }
  const { description, schemaName, examples } = action.response;
  const hasTag = 'isConditional' in action || 'tagged' in action;
  return success(200, description, hasTag ? ['ETag'] : [], {
    ...json(schemaReference(schemaName), examples),
    ...('lines' in action ? describeLines(action.lines) : {}),
  });
}

function describeFile(extension: string): [mediaType: string, Content[string]] {
  const mediaType = mediaTypeOf(extension);
  const isJson = mediaType === 'application/json';
  const object = { type: ['object', 'array'], items: { type: 'object' } };
  return [mediaType, { schema: isJson ? object : { type: 'string' } }];
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
