import {
  entry,
  type Duplicate,
  type InUse,
  type Invalid,
  type Named,
  type RequestLimit,
} from './error-entry.ts';
import { zoneNameMessage } from './zone-name-refusal.ts';

const asItIs = (text: string) => text;

/** The number of resources that a refusal names. */
export const MAX_NAMED = 3;

/** Returns the first names that stand in the way, as the end of a sentence. */
function named(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).map((name) => `'${name}'`);
  if (shown.length === 0) return '';
  return `: ${shown.join(', ')}${names.length > MAX_NAMED ? ' and others' : ''}`;
}

/** Returns which roles have a right, after "needs". A policy can name any roles, or none. */
function rolesText(roles: readonly string[]): string {
  const [first, ...others] = roles;
  if (first === undefined) return 'a role, and the policy of the service gives it to none';
  return others.length === 0 ? `the role ${first}` : `one of the roles ${roles.join(', ')}`;
}

/** Every error that the service returns, by code: its response, when it occurs, and its message. */
export const ERRORS = {
  access_denied: entry({
    status: 401,
    when: 'The token is valid, but none of its roles has the right that the request requires.',
    message: ({ right, roles }: { readonly right: string; readonly roles: readonly string[] }) =>
      `Access denied: the right '${right}' needs ${rolesText(roles)}`,
  }),
  agent_conflict: entry({
    status: 409,
    when: 'Another agent holds the lease of the name server, or a later pass has begun. The error also occurs if delivery is paused, or if the service itself delivers the keys.',
    message: asItIs,
  }),
  address_denied: entry({
    status: 403,
    when: 'The address of the caller is not in the setting `metrics.addresses`.',
    message: () => "Only addresses in 'metrics.addresses' can read the metrics",
  }),
  bad_request: entry({
    status: 400,
    when: 'The URL or the `Host` header is malformed, or a list filter is unknown or repeated. The error also occurs if the body length differs from `Content-Length`.',
    message: asItIs,
  }),
  duplicate: entry({
    status: 409,
    type: 'duplicate_{noun}',
    when: 'Another resource has this name or an equivalent name. The message names it if the caller can see it.',
    message: ({ type, place }: Duplicate) =>
      `Duplicate ${type.title}${place === undefined ? '' : `: ${place}`}`,
    typeIn: ({ type }) => type,
  }),
  empty_request_body: entry({
    status: 400,
    when: 'The request has no body, or the body is `null`.',
    message: (state: 'absent' | 'null') =>
      `The request ${state === 'null' ? 'body is null' : 'has no body'}. Send a JSON object.`,
  }),
  forbidden: entry({
    status: 403,
    when: 'The request creates or changes a CATALOG zone. The service does not support CATALOG zones.',
    message: () => "Unsupported zone type 'CATALOG'. Use PRIMARY or SECONDARY",
  }),
  illegal_child: entry({
    status: 403,
    when: 'Another project has a zone above the new zone.',
    message: () => 'Unable to create a subzone in the zone of another project',
  }),
  illegal_parent: entry({
    status: 403,
    when: 'Another project has a zone below the new zone.',
    message: () => 'Unable to create the zone: another project has a zone below it',
  }),
  internal: entry({
    status: 500,
    type: 'unknown',
    when: 'The service failed unexpectedly. The service log has the details under the request id.',
    message: () =>
      'An internal error occurred. The service log has the details under this request id',
  }),
  invalid_json: entry({
    status: 400,
    when: 'The body is not JSON in UTF-8, or one of its objects has two members of the same name.',
    message: (fault: string) => `The request body ${fault}`,
  }),
  invalid_limit: entry({
    status: 400,
    when: '`limit` is neither a positive whole number nor `max`, or is repeated.',
    message: (most: number) => `limit should be an integer between 1 and ${most}`,
  }),
  invalid_marker: entry({
    status: 400,
    when: '`marker` is not a UUID, or is repeated.',
    message: () => 'marker must be the id of a resource in this list',
  }),
  invalid_object: entry({
    status: 400,
    when: 'Members of the body are missing, unknown or invalid. `errors` lists the problems.',
    message: (about: string | Invalid) =>
      typeof about === 'string' ? about : `Invalid ${about.what}: ${about.messages.join('; ')}`,
  }),
  invalid_operation: entry({
    status: 400,
    when: 'The resource is in use or is the default pool, or the service does not accept this kind of token.',
    message(reason: 'default' | 'tokens' | InUse) {
      if (reason === 'tokens')
        return "The service does not accept its own tokens: 'auth.method' is 'keystone'. Use a Keystone token";
      if (reason === 'default') return 'The default pool cannot be deleted';
      return `The pool has ${reason.what} and cannot be deleted. Delete the ${reason.what} first${named(reason.names)}`;
    },
  }),
  invalid_sort_dir: entry({
    status: 400,
    when: '`sort_dir` is neither `asc` nor `desc`.',
    message: () => 'sort_dir should be asc or desc',
  }),
  invalid_sort_key: entry({
    status: 400,
    when: '`sort_key` is not a sort key of the list.',
    message: (keys: readonly string[]) => `sort_key should be one of ${keys.join(', ')}`,
  }),
  invalid_tsigkey: entry({
    status: 400,
    when: '`tsigkeys.requireResource` is set, and `resource_id` is not the id of an existing pool (scope `POOL`) or zone (scope `ZONE`).',
    message: ({ id, noun, scope }: Readonly<Record<'id' | 'noun' | 'scope', string>>) =>
      `The resource_id '${id}' is not the id of an existing ${noun}, which the scope ${scope} requires`,
  }),
  invalid_uuid: entry({
    status: 400,
    when: 'The id in the path is not a UUID.',
    message: ({ noun, text }: { readonly noun: string; readonly text: string }) =>
      `Invalid UUID ${noun}_id: ${text}`,
  }),
  invalid_zone_name: entry({
    status: 400,
    when: 'The name has only one label, or the TLD entries do not allow it. The message states which names the TLD entries allow.',
    message: zoneNameMessage,
  }),
  last_administrator: entry({
    status: 409,
    when: 'The token is the last valid token with the role `admin`, and neither `adminToken` nor Keystone gives administrators access.',
    message: (name: string) =>
      `Token '${name}' is the last valid administrator token. Create another token with the role admin first.`,
  }),
  marker_not_found: entry({
    status: 400,
    when: 'The resource with the id in `marker` does not exist.',
    message: ({ id, title }: { readonly id: string; readonly title: string }) =>
      `marker ${id} is not the id of an existing ${title}`,
  }),
  rotation_in_progress: entry({
    status: 409,
    when: 'The service is still encrypting secrets with the data key of the last rotation.',
    message: asItIs,
  }),
  method_not_allowed: entry({
    status: 405,
    when: 'The path does not support this method. The header `Allow` lists the methods of the path.',
    message: ({ method, allow }: { readonly method: string; readonly allow: string }) =>
      `The method ${method} is not allowed here. Use: ${allow}`,
  }),
  missing_project_id: entry({
    status: 401,
    when: 'The token has no project, and the resource must belong to a project.',
    message: () =>
      'A zone belongs to a project, and this token has none. Use a token with a project_id.',
  }),
  no_valid_pool_found: entry({
    status: 404,
    when: 'The pool in the request does not exist.',
    message: ({ id }: { readonly id?: string }) =>
      id === undefined
        ? 'pool_id and the attribute pool_id name different pools'
        : `Pool '${id}' does not exist`,
  }),
  not_exportable: entry({
    status: 409,
    when: 'The program that reads the format cannot use the key. The name is not a domain name, the secret is not base64, or the algorithm is not supported.',
    message: (problems: readonly string[]) =>
      `The key cannot be exported in this format: ${problems.join('; ')}`,
  }),
  not_found: entry({
    status: 404,
    when: 'The path does not exist. For a path of Designate, the message names what Tsigil lacks.',
    message: (lacking?: string) =>
      `This path does not exist${lacking === undefined ? '' : `: Tsigil has no ${lacking}`}`,
  }),
  outside_grants: entry({
    status: 409,
    when: 'The change moves a key away from zones that its grants name.',
    message: (names: readonly string[]) =>
      `The grants of the key name zones outside the new scope${named(names)}. Change the grants first: PUT /v2/tsigkeys/{id}/grants`,
  }),
  outside_limits: entry({
    status: 403,
    when: 'The limits of the token (`pools`, `zones`, `keys` and `nameservers`) do not include the resource or the right.',
    message: (what: string) => `The limits of the token do not include ${what}`,
  }),
  over_quota: entry({
    status: 413,
    when: 'The project has reached its quota of these resources.',
    message: (collection: string) => `Quota exceeded for ${collection}.`,
  }),
  precondition_failed: entry({
    status: 412,
    when: 'The resource was changed after the revision that the request expects.',
    message: (changedAt: string | undefined) =>
      `The resource ${changedAt === undefined ? 'has changed since' : `was last changed at ${changedAt}, which is not`} the revision that the request expects. Get the resource, and repeat the change`,
  }),
  request_header_fields_too_large: entry({
    status: 431,
    when: 'The request target and the names and values of the headers have 16 KiB or more together.',
    message: () => 'The request head is too large',
  }),
  request_timeout: entry({
    status: 408,
    when: 'The complete request did not arrive within `api.requestTimeoutSeconds`.',
    message: asItIs,
  }),
  request_too_large: entry({
    status: 413,
    when: 'The body is larger than `api.maxBodyBytes`. For lists and agent reports, the limit is at least 2 MiB.',
    message: (most: number | undefined) =>
      `The request body is ${most === undefined ? 'too large' : `larger than ${most} bytes`}`,
  }),
  resource_not_found: entry({
    status: 404,
    type: '{noun}_not_found',
    when: 'No resource has this id.',
    message: ({ title }: Named) => `Could not find ${title}`,
    typeIn: (type) => type,
  }),
  sign_in_again: entry({
    status: 403,
    when: 'A session of the web console needs a sign-in of the last 15 minutes to see a secret or to create a token, because of `console.confirmReveal`.',
    message: () =>
      'Your sign-in is more than 15 minutes old. Sign in again to see a secret or to create a token.',
  }),
  sign_in_failed: entry({
    status: 401,
    type: 'unauthorized',
    when: 'The web console cannot open a session. The message is the same for every cause.',
    message: () => 'Sign-in failed.',
  }),
  too_many_requests: entry({
    status: 429,
    when: 'The caller has exceeded its rate limit, or its address has sent too many requests without a valid token, or the service already runs the same work for another request. `Retry-After` states how long to wait.',
    message: (about: RequestLimit | string) => {
      if (typeof about === 'string') return about;
      const { perSecond, anonymous = false } = about;
      return `Too many requests${anonymous ? ' without a valid token from this address' : ''}: the limit is ${perSecond} per second`;
    },
  }),
  unauthenticated: entry({
    status: 401,
    type: 'unauthorized',
    when: 'The token is missing, unknown, deleted or expired.',
    message: () => 'The request you have made requires authentication.',
  }),
  unavailable: entry({
    status: 503,
    type: 'service_unavailable',
    when: 'The database does not respond, or the service is stopping or busy with other requests. `Retry-After` states how long to wait. Nothing was changed, unless the database failed during the commit of a change.',
    message: asItIs,
  }),
  unreadable_secret: entry({
    status: 503,
    when: 'A secret in the database cannot be decrypted. The log states the resource and the reason. A caller can still set a new secret or delete the resource.',
    message: () =>
      'A secret cannot be decrypted. Set a new secret or delete the resource. The service log states the resource and the reason',
  }),
  unsupported_content_encoding: entry({
    status: 415,
    when: 'The body has a `Content-Encoding`, such as `gzip`.',
    message: () => 'The Content-Encoding is not supported. Send the body without one.',
  }),
  unsupported_content_type: entry({
    status: 415,
    when: 'The `Content-Type` is not `application/json`.',
    message: () => 'The Content-Type must be application/json',
  }),
  key_is_referenced: entry({
    status: 409,
    when: 'The change would take a key from a name server whose configuration names the key, so the server would not load it any more, or not work as before. A caller that may list the name servers, without limits of its token, can send `Tsigil-Force: true` to make the change nevertheless: except on PowerDNS, the name server then keeps a key with this name, whose secret no one knows.',
    message: ({ what, named, line }: KeyReferenced) =>
      line === undefined
        ? `${what}: the configuration of a name server names ${named}. Ask the operator of the name servers to remove it there first`
        : `${what}: the configuration of the name server '${line.nameServer}' names ${named} (${line.place}). Remove it there first. To cut the key off there now, repeat this by force, with the header 'Tsigil-Force: true'`,
  }),
  reserved_name: entry({
    status: 409,
    when: 'The name is the handle of keys that replace each other, or belongs to a retired key that can still be restored.',
    message: ({ name, kind }: { readonly name: string; readonly kind: 'handle' | 'retired' }) =>
      kind === 'handle'
        ? `The name '${name}' is the handle of keys that have replaced each other, by which programs find the newest. Use another name, or delete these keys first; the filter 'lineage' lists them`
        : `The name '${name}' belongs to a retired key. Restore that key, use another name, or wait until its secret is destroyed`,
  }),
  rotation_state: entry({
    status: 409,
    when: 'The key is in another state of its rotation, or the step would break a client. The message says what to do.',
    message: asItIs,
  }),
  zone_has_sub_zone: entry({
    status: 400,
    when: 'Other zones exist below the zone.',
    message: (names: readonly string[]) =>
      `The zone has subzones. Delete them first${named(names)}`,
  }),
};

interface KeyReferenced {
  /** What cannot be done, as the beginning of a sentence. */
  readonly what: string;
  readonly named: string;
  /** Absent for a caller that may not see the name server and the key. */
  readonly line?: { readonly nameServer: string; readonly place: string } | undefined;
}

export type ErrorCode = keyof typeof ERRORS;

export type About<Code extends ErrorCode> = Parameters<(typeof ERRORS)[Code]['message']>[0];
