import type { ErrorCode } from '../../domain/model/errors.ts';
import { pendingMembers, successStatus } from '../../domain/model/response.ts';
import { secretFields } from '../../domain/model/response.ts';
import type { Operation, ResourceType } from '../../domain/model/resource.ts';
import { CALLER_ID_HEADER, WARNING_HEADER } from '../request/context.ts';
import { OPERATION_ROUTES } from '../request/routes.ts';
import type {
  OperationObject,
  OrReference,
  ParameterObject,
  PathItem,
  Paths,
  ResponseObject,
} from './document.ts';
import { responseExamples, requestExamples } from './examples.ts';
import {
  commonParameters,
  idParameter,
  listParameters,
  forceParameters,
  onlyIfUnchanged,
  secretParameters,
  unlessKnown,
} from './parameters.ts';
import {
  BODY_ERRORS,
  describeOperation,
  ETAG,
  headers,
  ID_ERRORS,
  json,
  type ApiSettings,
} from './responses.ts';
import { schemaNames, schemaReference } from './schemas.ts';

/** The parts of an operation's description that are the same for every collection. */
interface OperationNote {
  summary(words: ResourceType['words']): string;
  readonly description: string;
  readonly status: number;
  readonly response: string;
  readonly errors: readonly ErrorCode[];
}

/** The operations whose response shows a secret from the database. */
const SECRET_OPERATIONS: readonly Operation[] = ['list', 'get', 'update'];

const PAGING_ERRORS: readonly ErrorCode[] = [
  'invalid_limit',
  'invalid_marker',
  'invalid_sort_dir',
  'invalid_sort_key',
  'marker_not_found',
];

const NOTES: Readonly<Record<Operation, OperationNote>> = {
  create: {
    summary: ({ one }) => `Create a ${one}`,
    description:
      'Returns 400 for unknown members and for members that only the service sets. The response to an invalid body lists every problem.',
    status: 201,
    response: 'Created: the new resource.',
    errors: [...BODY_ERRORS, 'duplicate'],
  },
  list: {
    summary: ({ many }) => `List ${many}`,
    description:
      'Returns a page of the resources that match every filter. To list all resources, follow `links.next` until a page has no such link. Each resource is listed once, even if other resources are created or deleted meanwhile. A page of large resources may contain fewer resources than `limit`. Returns 400 for parameters that are not listed here.',
    status: 200,
    response: 'The page.',
    errors: PAGING_ERRORS,
  },
  get: {
    summary: ({ one }) => `Get a ${one}`,
    description:
      'Returns the resource with this id. Its `ETag` identifies this revision of the resource.',
    status: 200,
    response: 'The resource.',
    errors: ID_ERRORS,
  },
  update: {
    summary: ({ one }) => `Update a ${one}`,
    description: 'Changes only the members in the body. Sets `updated_at` even if nothing changes.',
    status: 200,
    response: 'Updated: the resource after the change.',
    errors: [...ID_ERRORS, ...BODY_ERRORS, 'duplicate', 'precondition_failed'],
  },
  delete: {
    summary: ({ one }) => `Delete a ${one}`,
    description: 'Deletes the resource immediately and permanently.',
    status: 204,
    response: 'Deleted: the response has no body.',
    errors: [...ID_ERRORS, 'precondition_failed'],
  },
};

const OWN =
  ' A caller sees only the resources of its project, unless the request covers all projects.';

export function collectionPaths(settings: ApiSettings, type: ResourceType): Paths {
  const paths: Record<string, PathItem> = {};
  for (const operation of type.operations) {
    const { method, onItem } = OPERATION_ROUTES[operation];
    const path = `/v2/${type.collection}${onItem ? '/{id}' : ''}`;
    const parameters = [...(onItem ? [idParameter(type)] : []), ...commonParameters()];
    paths[path] = {
      ...(paths[path] ?? { parameters }),
      [method.toLowerCase()]: ofCollection(settings, type, operation),
    };
  }
  return paths;
}

function ofCollection(
  settings: ApiSettings,
  type: ResourceType,
  operation: Operation,
): OperationObject {
  const { summary, description, errors, status } = NOTES[operation];
  const { request } = schemaNames(type, operation);
  const showsSecret = SECRET_OPERATIONS.includes(operation) && secretFields(type).length > 0;
  return describeOperation(settings, type, {
    operationId: `${operation}_${operation === 'list' ? type.collection : type.noun}`,
    summary: summary(type.words),
    description: `${description}${type.owner === undefined || operation === 'create' ? '' : OWN}`,
    tag: type.collection,
    right: `${type.collection}:${operation}`,
    parameters: parametersOf(type, operation),
    body:
      request === undefined
        ? undefined
        : { schemaName: request, examples: requestExamples(type, operation) },
    status: successStatus(type, operation, settings, status),
    success: success(settings, type, operation),
    isConditional: operation === 'get',
    errors: [
      ...errors,
      ...(type.refusals?.[operation] ?? []),
      ...(showsSecret ? (['unreadable_secret'] as const) : []),
    ],
  });
}

function parametersOf(type: ResourceType, operation: Operation): OrReference<ParameterObject>[] {
  if (operation === 'list') return listParameters(type);
  if (operation === 'get') return [...secretParameters(type), unlessKnown(ETAG)];
  return operation === 'create'
    ? []
    : [...forceParameters(type.refusals?.[operation]), onlyIfUnchanged(ETAG)];
}

/** Returns the name of the header with the caller's id, if responses to `operation` have it. */
function callerHeader({ identifiesCaller }: ResourceType, operation: Operation): string[] {
  return identifiesCaller === true && ['list', 'get'].includes(operation) ? [CALLER_ID_HEADER] : [];
}

/** Returns the name of the header with the revision of a resource, if responses have it. */
function tagHeader(settings: ApiSettings, type: ResourceType, operation: Operation): string[] {
  const isPending = pendingMembers(type, operation, settings) !== undefined;
  return ['get', 'update'].includes(operation) && !isPending ? ['ETag'] : [];
}

function warningHeader({ warnings }: ResourceType, operation: Operation): string[] {
  return warnings !== undefined && ['create', 'update'].includes(operation) ? [WARNING_HEADER] : [];
}

function success(settings: ApiSettings, type: ResourceType, operation: Operation): ResponseObject {
  const { response } = schemaNames(type, operation);
  return {
    description:
      response === undefined || operation !== 'delete'
        ? NOTES[operation].response
        : 'Deleted: the resource before its deletion.',
    headers: headers(
      ...(operation === 'create' ? ['Location'] : []),
      ...tagHeader(settings, type, operation),
      ...callerHeader(type, operation),
      ...warningHeader(type, operation),
    ),
    ...(response === undefined
      ? {}
      : {
          content: json(schemaReference(response), responseExamples(type, operation, settings)),
        }),
  };
}
