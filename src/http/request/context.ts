import type { FastifyRequest } from 'fastify';
import { isProjectId, type Caller } from '../../domain/model/caller.ts';
import { ServiceError } from '../../domain/model/errors.ts';
import { requireRight, type Policy } from '../../domain/resources/policy.ts';
import type { Parameter } from '../../domain/operations/list-query.ts';
import { withoutTokens } from '../../domain/model/token-form.ts';

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
    apply: (caller, value) => (value === '' ? undefined : { ...caller, projectId: readProjectId(value) }),
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

/** Tells whether a query parameter is a modifier, which is no filter and does not appear in links. */
export function isModifier(parameter: string): boolean {
  return MODIFIERS.some(({ parameters }) => parameters.includes(parameter));
}

/** The caller as the request's modifiers make it. Throws `access_denied` for a modifier the caller has no right to. */
export function applyModifiers(request: FastifyRequest, parameters: readonly Parameter[], caller: Caller, policy: Policy): Caller {
  const given = MODIFIERS.filter(
    ({ headers, parameters: names }) =>
      headers.some((name) => request.headers[name] !== undefined) || parameters.some(([name]) => names.includes(name)),
  );
  return given.reduce((current, { right, headers, parameters: names, apply }) => {
    const values = [
      ...headers.map((name) => request.headers[name]),
      ...parameters.filter(([name]) => names.includes(name)).map(([, value]) => value),
    ];
    const modified = values.map((value) => (typeof value === 'string' ? apply(current, value) : undefined)).find((result) => result !== undefined);
    if (modified === undefined) return current;
    requireRight(policy, caller, right);
    return modified;
  }, caller);
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
