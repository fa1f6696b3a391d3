import type { ErrorCode } from '../../domain/model/errors.ts';
import type { Operation, ResourceType } from '../../domain/model/resource.ts';
import { CALLER_ID_HEADER } from '../request/context.ts';
import { OPERATION_ROUTES } from '../request/routes.ts';
import type { OperationObject, PathItem, Paths, ResponseObject } from './document.ts';
import { answerExamples, requestExamples } from './examples.ts';
import { commonParameters, idParameter, listParameters } from './parameters.ts';
import { ERRORS_WITH_TOKEN, errorResponses, headers, json, type ApiSettings } from './responses.ts';
import { schemaNames, schemaReference } from './schemas.ts';

/** What the description of the API says about an operation, whatever the collection. */
interface OperationNote {
  summary(type: ResourceType): string;
  readonly description: string;
  readonly status: number;
  /** What the answer with that status holds. */
  readonly answer: string;
  /** The errors it may meet beside those that every request may. */
  readonly errors: readonly ErrorCode[];
}

const BODY_ERRORS: readonly ErrorCode[] = [
  'unsupported_content_type',
  'empty_request_body',
  'invalid_json',
  'invalid_object',
  'duplicate',
];
const ID_ERRORS: readonly ErrorCode[] = ['invalid_uuid', 'resource_not_found'];
const PAGING_ERRORS: readonly ErrorCode[] = [
  'invalid_limit',
  'invalid_marker',
  'invalid_sort_dir',
  'invalid_sort_key',
  'marker_not_found',
];

const NOTES: Readonly<Record<Operation, OperationNote>> = {
  create: {
    summary: ({ title }) => `Create a ${title}`,
    description:
      'Members that are unknown or set by the service are refused. The answer to a bad body names everything that is wrong with it.',
    status: 201,
    answer: 'Created: the whole new resource.',
    errors: BODY_ERRORS,
  },
  list: {
    summary: ({ collection }) => `List ${collection}`,
    description:
      'A page of the resources that match every filter. Follow `links.next` until a page has none to see them all, each of them once even while others are created and deleted. A page of large resources holds fewer than `limit`. Parameters that are not listed here are refused.',
    status: 200,
    answer: 'The page.',
    errors: PAGING_ERRORS,
  },
  get: {
    summary: ({ title }) => `Get a ${title}`,
    description: 'The resource with this id.',
    status: 200,
    answer: 'The whole resource.',
    errors: ID_ERRORS,
  },
  update: {
    summary: ({ title }) => `Update a ${title}`,
    description:
      'Changes the members that the body gives and leaves the others as they are. `updated_at` is set even when nothing changes.',
    status: 200,
    answer: 'Updated: the whole resource as it is now.',
    errors: [...ID_ERRORS, ...BODY_ERRORS],
  },
  delete: {
    summary: ({ title }) => `Delete a ${title}`,
    description: 'The resource is gone at once and for good.',
    status: 204,
    answer: 'Deleted: there is no body.',
    errors: ID_ERRORS,
  },
};

/** What is added about collections whose resources belong to projects. */
const OWN =
  ' A caller sees the resources of its own project alone, unless the request asks about all projects.';

/** The paths of the collection of `type`, with every operation that the type has. */
export function collectionPaths(settings: ApiSettings, type: ResourceType): Paths {
  const paths: Record<string, PathItem> = {};
  for (const operation of type.operations) {
    const { method, onItem } = OPERATION_ROUTES[operation];
    const path = `/v2/${type.collection}${onItem ? '/{id}' : ''}`;
    const parameters = [
      ...(onItem ? [idParameter(type)] : []),
      ...commonParameters(settings.requestIdHeader),
    ];
    paths[path] = {
      ...(paths[path] ?? { parameters }),
      [method.toLowerCase()]: describeOperation(settings, type, operation),
    };
  }
  return paths;
}

function describeOperation(
  settings: ApiSettings,
  type: ResourceType,
  operation: Operation,
): OperationObject {
  const { summary, description, errors } = NOTES[operation];
  const status = type.statuses?.[operation] ?? NOTES[operation].status;
  const refusals = type.refusals?.[operation] ?? [];
  return {
    operationId: `${operation}_${operation === 'list' ? type.collection : type.noun}`,
    summary: summary(type),
    description: `${description}${type.owner === undefined || operation === 'create' ? '' : OWN}\n\nNeeds the right \`${type.collection}:${operation}\`.`,
    tags: [type.collection],
    security: [{ token: [] }, { bearer: [] }],
    ...(operation === 'list' ? { parameters: listParameters(type) } : {}),
    ...requestBody(type, operation),
    responses: {
      [status]: success(settings, type, operation),
      ...errorResponses(settings, type, [...ERRORS_WITH_TOKEN, ...errors, ...refusals]),
    },
  };
}

function requestBody(
  type: ResourceType,
  operation: Operation,
): Pick<OperationObject, 'requestBody'> {
  const { request } = schemaNames(type, operation);
  return request === undefined
    ? {}
    : {
        requestBody: {
          required: true,
          content: json(schemaReference(request), requestExamples(type, operation)),
        },
      };
}

/** The header that tells a client which resource it uses. */
function callerHeader({ identifiesCaller }: ResourceType, operation: Operation): string[] {
  return identifiesCaller === true && ['list', 'get'].includes(operation) ? [CALLER_ID_HEADER] : [];
}

function success(settings: ApiSettings, type: ResourceType, operation: Operation): ResponseObject {
  const { answer } = schemaNames(type, operation);
  return {
    description:
      answer === undefined || operation !== 'delete'
        ? NOTES[operation].answer
        : 'Deleted: the whole resource, for the last time.',
    headers: headers(
      settings,
      ...(operation === 'create' ? ['Location'] : []),
      ...callerHeader(type, operation),
    ),
    ...(answer === undefined
      ? {}
      : { content: json(schemaReference(answer), answerExamples(type, operation, settings.base)) }),
  };
}
