import type { FastifyRequest } from 'fastify';
import { isProjectId, type Caller } from '../../core/caller.ts';
import { ServiceError } from '../../core/errors.ts';
import {
  ALL_PROJECTS,
  requireAllProjects,
  requireRight,
  withReach,
  type Policy,
} from '../../resources/policy.ts';
import type { Parameter } from '../../resources/operations/list-query.ts';
import { withoutTokens } from '../../core/text/token-form.ts';
import { readParameters } from './urls.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The query string. Undefined until it is first read. */
    queryString: QueryString | undefined;
  }
}

interface ContextOption {
  readonly right: string;
  readonly description: string;
  readonly headers: readonly string[];
  readonly parameters: readonly string[];
  /** Returns the caller with the option applied. Returns undefined if the value has no effect. */
  apply(caller: Caller, value: string): Caller | undefined;
}

export const CONTEXT_OPTIONS: readonly ContextOption[] = [
  {
    right: 'use_sudo',
    description: 'The request acts for the project with this id.',
    headers: ['x-auth-sudo-project-id', 'x-auth-sudo-tenant-id'],
    parameters: [],
    apply: (caller, value) =>
      value === '' ? undefined : { ...caller, projectId: readProjectId(value) },
  },
  {
    right: ALL_PROJECTS,
    description: 'If true, the request covers the resources of all projects.',
    headers: ['x-auth-all-projects'],
    parameters: ['all_projects', 'all_tenants'],
    apply: (caller, value) => (isTrue(value) ? { ...caller, allProjects: true } : undefined),
  },
  {
    right: 'edit_managed_records',
    description: 'If true, the request may change resources that the service manages.',
    headers: ['x-designate-edit-managed-records'],
    parameters: ['edit_managed_records'],
    apply: (caller, value) => (isTrue(value) ? caller : undefined),
  },
  {
    right: 'hard_delete',
    description: 'If true, the request deletes the resource immediately and permanently.',
    headers: ['x-designate-hard-delete'],
    parameters: [],
    apply: (caller, value) => (isTrue(value) ? caller : undefined),
  },
];

/** The header with the request id. Clients of OpenStack log the header with this name. */
export const REQUEST_ID_HEADER = 'X-Openstack-Request-Id';

/** The header with the warnings about a resource that a request created or changed. */
export const WARNING_HEADER = 'Tsigil-Warning';

/** The header with which a caller disables the total count of a list. */
export const HIDE_COUNTS = 'OpenStack-DNS-Hide-Counts';

const CONTEXT_PARAMETERS: ReadonlySet<string> = new Set(
  CONTEXT_OPTIONS.flatMap(({ parameters }) => parameters),
);

export const HIDE_SECRETS = 'Tsigil-Hide-Secrets';

/** The header with which a caller deletes what a name server still needs. */
export const FORCE = 'Tsigil-Force';

interface QueryString {
  /** The parameters of the request context, which are not filters and do not appear in links. */
  readonly contextParameters: readonly Parameter[];
  /** All other parameters, in the order received. */
  readonly parameters: readonly Parameter[];
  /** The error for an invalid query string. With an error, both lists are empty. */
  readonly error?: ServiceError;
}

const NO_QUERY: QueryString = { contextParameters: [], parameters: [] };

function queryOf(request: FastifyRequest): QueryString {
  request.queryString ??= readQuery(request.url);
  return request.queryString;
}

function readQuery(url: string): QueryString {
  if (!url.includes('?')) return NO_QUERY;
  const contextParameters: Parameter[] = [];
  const parameters: Parameter[] = [];
  try {
    for (const parameter of readParameters(url))
      (CONTEXT_PARAMETERS.has(parameter[0]) ? contextParameters : parameters).push(parameter);
    return { contextParameters, parameters };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { ...NO_QUERY, error };
  }
}

/** Omits those of the request context. Throws `bad_request` for a query that is not UTF-8. */
export function parametersOf(request: FastifyRequest): readonly Parameter[] {
  const { parameters, error } = queryOf(request);
  if (error !== undefined) throw error;
  return parameters;
}

/** Their names are longer than most header names, so most of these need no comparison. */
const CONTEXT_HEADERS = new Set(CONTEXT_OPTIONS.flatMap(({ headers }) => headers));
const SHORTEST = Math.min(...[...CONTEXT_HEADERS].map((name) => name.length));

/** Names and values alternate in `rawHeaders`. */
function hasContextHeader(rawHeaders: readonly string[]): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length >= SHORTEST && CONTEXT_HEADERS.has(name.toLowerCase())) return true;
  }
  return false;
}

/**
 * Returns the caller that results from the request context. Throws `access_denied` if the caller
 * lacks the right that a header or parameter of the request needs. A caller who may only read the
 * resources of all projects may send such a header with requests that change none.
 */
export function applyContext(request: FastifyRequest, caller: Caller, policy: Policy): Caller {
  // An invalid query string sets no request context. `parametersOf` throws the error.
  const { contextParameters } = queryOf(request);
  const { right: routeRight = '' } = request.route.config;
  if (contextParameters.length === 0 && !hasContextHeader(request.raw.rawHeaders))
    return withReach(policy, caller, routeRight);
  let current = caller;
  for (const { right, headers, parameters, apply } of CONTEXT_OPTIONS) {
    let modified: Caller | undefined;
    // Every value is validated, although only the first value with an effect counts.
    for (const name of headers) {
      const value = request.headers[name];
      const result = typeof value === 'string' ? apply(current, value) : undefined;
      modified ??= result;
    }
    for (const [name, value] of contextParameters) {
      const result = parameters.includes(name) ? apply(current, value) : undefined;
      modified ??= result;
    }
    if (modified === undefined) continue;
    if (right === ALL_PROJECTS) requireAllProjects(policy, caller, routeRight);
    else requireRight(policy, caller, right);
    current = modified;
  }
  return withReach(policy, current, routeRight);
}

/**
 * Returns the project id in `value`. Throws `bad_request` for an invalid id and for a token. A
 * token as a project id would be visible to everyone who sees the project's zones.
 */
function readProjectId(value: string): string {
  if (!isProjectId(value) || withoutTokens(value) !== value) {
    throw new ServiceError(
      'bad_request',
      'X-Auth-Sudo-Project-ID and X-Auth-Sudo-Tenant-ID must contain a project id',
    );
  }
  return value;
}

export function isSet({ headers }: FastifyRequest, header: string): boolean {
  const value = headers[header.toLowerCase()];
  return value !== undefined && isTrue(String(value));
}

function isTrue(value: string): boolean {
  return ['1', 't', 'true', 'on', 'y', 'yes'].includes(value.toLowerCase());
}
