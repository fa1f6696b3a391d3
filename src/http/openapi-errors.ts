import { readCreation } from '../domain/body.ts';
import { readId } from '../domain/collection.ts';
import { ServiceError, type ErrorCode } from '../domain/errors.ts';
import { readListRequest } from '../domain/list-query.ts';
import { requireRight } from '../domain/policy.ts';
import { exportKey } from '../domain/key-formats/formats.ts';
import type { ResourceType } from '../domain/resource.ts';
import { MAX_LIMIT } from '../domain/settings.ts';
import { lastAdministrator } from '../domain/token.ts';
import { refuseZoneName } from '../domain/zone-name.ts';
import { toServiceError } from './errors.ts';
import { EXAMPLE_ID, LENIENT } from './openapi-examples.ts';
import { createRateLimiter } from './rate-limit.ts';

/** What the description of the API says about one error. */
export interface ErrorNote {
  /** When callers meet it. */
  readonly when: string;
  /** One that a request about `type` may meet, thrown by the code that serves requests where that can be had without one. */
  example(type: ResourceType): ServiceError;
}

/** A note on each error. */
export const ERROR_NOTES: Readonly<Record<ErrorCode, ErrorNote>> = {
  access_denied: {
    when: 'The token is valid, but none of its roles has the right to do this.',
    example: ({ collection }) =>
      thrownBy(() => requireRight({}, { id: '', name: '', roles: [], projectId: null, allProjects: false }, `${collection}:list`)),
  },
  bad_request: {
    when: 'The URL or the `Host` header is malformed, the body is not as long as announced, or a list filter is unknown or given twice.',
    example: () => new ServiceError('bad_request', 'The Host header is not valid'),
  },
  duplicate: {
    when: 'Another resource has this name, or one that counts as the same.',
    example: ({ title, noun }) => new ServiceError('duplicate', `Duplicate ${title}`, { subject: noun }),
  },
  empty_request_body: {
    when: 'There is no body, or it is `null`.',
    example: () => new ServiceError('empty_request_body', 'The request has no body; a JSON object is expected'),
  },
  forbidden: {
    when: 'This cannot be done by any caller.',
    example: () => new ServiceError('forbidden', 'CATALOG zones are made by the service alone'),
  },
  illegal_child: {
    when: 'Another project has a zone above this one.',
    example: () => new ServiceError('illegal_child', 'Unable to create a subzone in the zone of another project'),
  },
  illegal_parent: {
    when: 'Another project has a zone below this one.',
    example: () => new ServiceError('illegal_parent', 'Unable to create the zone: another project has a zone below it'),
  },
  internal: {
    when: 'A fault of the service; its log tells more under the request id.',
    example: () => toServiceError({}),
  },
  invalid_json: {
    when: 'The body is not JSON in UTF-8, or one of its objects has two members of one name.',
    example: () => new ServiceError('invalid_json', 'The request body is not valid JSON'),
  },
  invalid_limit: {
    when: '`limit` is neither a positive whole number nor `max`, or is given twice.',
    example: (type) => thrownBy(() => readListRequest(type, [['limit', '0']], MAX_LIMIT)),
  },
  invalid_marker: {
    when: '`marker` is not the id of one resource.',
    example: (type) => thrownBy(() => readListRequest(type, [['marker', 'example']], MAX_LIMIT)),
  },
  invalid_object: {
    when: 'Members of the body are missing, unknown or not as they must be; `errors` lists them all.',
    example: (type) => thrownBy(() => readCreation(type, { id: EXAMPLE_ID }, LENIENT)),
  },
  invalid_operation: {
    when: 'The resource is in use, or is one that always exists.',
    example: () => new ServiceError('invalid_operation', 'The pool has zones and cannot be deleted'),
  },
  invalid_sort_dir: {
    when: '`sort_dir` is neither `asc` nor `desc`.',
    example: (type) => thrownBy(() => readListRequest(type, [['sort_dir', 'up']], MAX_LIMIT)),
  },
  invalid_sort_key: {
    when: '`sort_key` is nothing that lists are sorted by.',
    example: (type) => thrownBy(() => readListRequest(type, [['sort_key', 'size']], MAX_LIMIT)),
  },
  invalid_uuid: {
    when: 'The id in the path is not a UUID.',
    example: (type) => thrownBy(() => readId(type, 'example')),
  },
  invalid_tsigkey: {
    when: 'Where the service asks for it: `resource_id` is not the id of a pool or zone, as the scope says.',
    example: () => new ServiceError('invalid_tsigkey', `The resource_id ${EXAMPLE_ID} is not the id of a pool, which the scope POOL asks for`),
  },
  invalid_zone_name: {
    when: 'The name has one label only, or the TLD entries do not allow it; the message says what they would.',
    example() {
      const refusal = refuseZoneName('example.net.', { any: true, has: () => false }, LENIENT.tldRule);
      return new ServiceError('invalid_zone_name', refusal?.message ?? '');
    },
  },
  last_administrator: {
    when: 'The token is the last valid one with the role `admin`, and neither `adminToken` nor Keystone gives administrators access.',
    example: () => lastAdministrator('admin'),
  },
  marker_not_found: {
    when: 'The resource that `marker` names does not exist, or no longer.',
    example: ({ title }) => new ServiceError('marker_not_found', `marker ${EXAMPLE_ID} is not the id of an existing ${title}`),
  },
  method_not_allowed: {
    when: 'What other methods on this path are answered; `Allow` lists those it has.',
    example: () => new ServiceError('method_not_allowed', 'PUT is not possible here; possible are GET, HEAD, POST, OPTIONS'),
  },
  missing_project_id: {
    when: 'The token is for no project, and the resource would belong to one.',
    example: () => new ServiceError('missing_project_id', 'A zone belongs to a project, and this token is for none: use a token with a project_id'),
  },
  no_valid_pool_found: {
    when: 'The pool that was asked for does not exist.',
    example: () => new ServiceError('no_valid_pool_found', `There is no pool ${EXAMPLE_ID}`),
  },
  not_exportable: {
    when: 'The consumer that the form is for could not use the key: its name is no domain name, its secret no base64, or the algorithm not known there.',
    example: () => thrownBy(() => exportKey('bind', { name: 'transfer key', algorithm: 'hmac-sha256', secret: 'AA==' })),
  },
  not_found: {
    when: 'What requests to other paths are answered.',
    example: () => new ServiceError('not_found', 'There is no such resource or page'),
  },
  over_quota: {
    when: 'The project has as many of these as it may.',
    example: () => new ServiceError('over_quota', 'Quota exceeded for zones.'),
  },
  request_header_fields_too_large: {
    when: 'The request line and headers are larger than the service takes.',
    example: () => toServiceError({ code: 'HPE_HEADER_OVERFLOW' }),
  },
  request_timeout: {
    when: 'The request did not arrive in full in the time that the service allows.',
    example: () => toServiceError({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
  },
  request_too_large: {
    when: 'The body is larger than the service takes.',
    example: () => toServiceError({ code: 'FST_ERR_CTP_BODY_TOO_LARGE' }),
  },
  resource_not_found: {
    when: 'There is no resource with this id.',
    example: ({ title, noun }) => new ServiceError('resource_not_found', `Could not find ${title}`, { subject: noun }),
  },
  too_many_requests: {
    when: 'The caller sends more requests than the service allows, or its address sends too many without a valid token. `Retry-After` says how long to wait.',
    example() {
      const limitRate = createRateLimiter({ requestsPerSecond: 10, burst: 1 }, () => 0);
      limitRate('caller');
      return thrownBy(() => limitRate('caller'));
    },
  },
  unauthenticated: {
    when: 'There is no token, or it is unknown, deleted or expired.',
    example: () => new ServiceError('unauthenticated', 'The request you have made requires authentication.'),
  },
  unavailable: {
    when: 'The database does not answer, or the service is stopping or busy with other requests; `Retry-After` says how long to wait. Nothing was changed, unless the database fell silent at the very end of a change.',
    example: () => new ServiceError('unavailable', 'The database cannot be used: the disk is full', { retryAfterSeconds: 5 }),
  },
  unsupported_content_type: {
    when: 'The `Content-Type` is not `application/json`.',
    example: () => new ServiceError('unsupported_content_type', 'The Content-Type must be application/json'),
  },
  zone_has_sub_zone: {
    when: 'There are zones below the zone.',
    example: () => new ServiceError('zone_has_sub_zone', 'The zone has subzones; delete those first'),
  },
};

/** What `work` throws, which it must. */
export function thrownBy(work: () => unknown): ServiceError {
  try {
    work();
  } catch (error) {
    return toServiceError(error);
  }
  throw new Error('An example of an error must be one');
}
