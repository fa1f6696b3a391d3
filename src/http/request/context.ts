import type { FastifyRequest } from 'fastify';
import { isProjectId, type Caller } from '../../domain/model/caller.ts';
import { ServiceError } from '../../domain/model/errors.ts';
import { requireRight, type Policy } from '../../domain/resources/policy.ts';
import type { Parameter } from '../../domain/operations/list-query.ts';
import { withoutTokens } from '../../domain/text/token-form.ts';
import { readParameters } from './urls.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The query string; undefined until something reads it. */
    queryString: QueryString | undefined;
  }
}

/** A header or query parameter that changes how a request is meant, the right it needs, and what it makes of the caller. */
interface Modifier {
  readonly right: string;
  /** What the request becomes, in a sentence. */
  readonly description: string;
  readonly headers: readonly string[];
  readonly parameters: readonly string[];
  /** Undefined when the value asks for nothing. */
  apply(caller: Caller, value: string): Caller | undefined;
}

/** Every modifier there is. */
export const MODIFIERS: readonly Modifier[] = [
  {
    right: 'use_sudo',
    description: 'Acts for the project with this id.',
    headers: ['x-auth-sudo-project-id', 'x-auth-sudo-tenant-id'],
    parameters: [],
    apply: (caller, value) =>
      value === '' ? undefined : { ...caller, projectId: readProjectId(value) },
  },
  {
    right: 'all_projects',
    description: 'Asks about the resources of all projects, when it is true.',
    headers: ['x-auth-all-projects'],
    parameters: ['all_projects', 'all_tenants'],
    apply: (caller, value) => (isTrue(value) ? { ...caller, allProjects: true } : undefined),
  },
  {
    right: 'edit_managed_records',
    description: 'Asks to change what the service manages by itself, when it is true.',
    headers: ['x-designate-edit-managed-records'],
    parameters: ['edit_managed_records'],
    apply: (caller, value) => (isTrue(value) ? caller : undefined),
  },
  {
    right: 'hard_delete',
    description: 'Asks to delete at once and for good, when it is true.',
    headers: ['x-designate-hard-delete'],
    parameters: [],
    apply: (caller, value) => (isTrue(value) ? caller : undefined),
  },
];

/** The header with the caller's id, on responses about resources with `identifiesCaller`. */
export const CALLER_ID_HEADER = 'X-Tsigil-Caller-Id';

/** The header by which a caller would rather not have the resources of a list counted. */
export const HIDE_COUNTS = 'OpenStack-DNS-Hide-Counts';

const MODIFYING_PARAMETERS: ReadonlySet<string> = new Set(
  MODIFIERS.flatMap(({ parameters }) => parameters),
);

/** The query string of a request, read once. */
interface QueryString {
  /** The parameters that change how the request is meant. They are no filters and do not appear in links. */
  readonly modifiers: readonly Parameter[];
  /** All other parameters, in the order received. */
  readonly parameters: readonly Parameter[];
  /** Why the query string cannot be read, if so; both lists are empty then. */
  readonly error?: ServiceError;
}

/** The query string of the requests that have none. */
const NO_QUERY: QueryString = { modifiers: [], parameters: [] };

/** Returns the query string of a request, which is read the first time. */
function queryOf(request: FastifyRequest): QueryString {
  request.queryString ??= readQuery(request.url);
  return request.queryString;
}

function readQuery(url: string): QueryString {
  if (!url.includes('?')) return NO_QUERY;
  const modifiers: Parameter[] = [];
  const parameters: Parameter[] = [];
  try {
    for (const parameter of readParameters(url))
      (MODIFYING_PARAMETERS.has(parameter[0]) ? modifiers : parameters).push(parameter);
    return { modifiers, parameters };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { ...NO_QUERY, error };
  }
}

/**
 * Returns the query parameters of a request without those that change how it is meant. Throws `bad_request` for a query string that is
 * not properly encoded UTF-8.
 */
export function parametersOf(request: FastifyRequest): readonly Parameter[] {
  const { parameters, error } = queryOf(request);
  if (error !== undefined) throw error;
  return parameters;
}

/** The names of all headers that are modifiers. They are longer than most headers, whose names need no look at the list. */
const MODIFIER_HEADERS = new Set(MODIFIERS.flatMap(({ headers }) => headers));
const SHORTEST = Math.min(...[...MODIFIER_HEADERS].map((name) => name.length));

/** Tells whether a request has a header that is a modifier. `rawHeaders` has names and values in turn. */
function hasModifierHeader(rawHeaders: readonly string[]): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length >= SHORTEST && MODIFIER_HEADERS.has(name.toLowerCase())) return true;
  }
  return false;
}

/** The caller as the request's modifiers make it. Throws `access_denied` for a modifier the caller has no right to. */
export function applyModifiers(request: FastifyRequest, caller: Caller, policy: Policy): Caller {
  const { modifiers } = queryOf(request); // a query string that cannot be read has none: only lists and actions need theirs
  if (modifiers.length === 0 && !hasModifierHeader(request.raw.rawHeaders)) return caller;
  let current = caller;
  for (const { right, headers, parameters, apply } of MODIFIERS) {
    let modified: Caller | undefined;
    // Every value is applied, although the first one that asks for something counts: all of them must be valid.
    for (const name of headers) {
      const value = request.headers[name];
      const result = typeof value === 'string' ? apply(current, value) : undefined;
      modified ??= result;
    }
    for (const [name, value] of modifiers) {
      const result = parameters.includes(name) ? apply(current, value) : undefined;
      modified ??= result;
    }
    if (modified === undefined) continue;
    requireRight(policy, caller, right);
    current = modified;
  }
  return current;
}

/** Throws `bad_request` for what cannot be the id of a project, and for a token, which everyone who sees the project's zones would see. */
function readProjectId(value: string): string {
  if (!isProjectId(value) || withoutTokens(value) !== value) {
    throw new ServiceError('bad_request', 'The project to act for should be the id of a project');
  }
  return value;
}

/** Tells whether the value of a switch means yes. */
export function isTrue(value: string): boolean {
  return ['1', 't', 'true', 'on', 'y', 'yes'].includes(value.toLowerCase());
}
