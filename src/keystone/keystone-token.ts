import { anyText, array, boolean, nullable, parseTimestamp, type ValueOf } from '../core/field.ts';
import { optional, responseObject } from '../core/object.ts';
import type { Caller, Scope } from '../core/caller.ts';
import { AGENT_ROLE } from '../resources/policy.ts';

export interface ValidToken {
  readonly caller: Caller;
  /** The expiry time in milliseconds since 1970. */
  readonly expiresAt: number;
}

const NAMED = responseObject({ id: anyText() });

/** The Keystone API v3 describes the members in "Validate and show information for token". */
const DESCRIPTION = responseObject({
  expires_at: anyText(),
  user: responseObject({ id: anyText(), name: anyText() }),
  roles: optional(array(responseObject({ name: anyText() }), 0, Infinity)),
  project: optional(NAMED),
  domain: optional(NAMED),
  system: optional(nullable(responseObject({ all: optional(boolean()) }))),
});
const RESPONSE = responseObject({ token: DESCRIPTION });

const TIMES = responseObject({
  token: responseObject({ issued_at: anyText(), expires_at: anyText() }),
});

/** Returns undefined if the body does not match the Keystone API. */
export function readToken(body: unknown): ValidToken | undefined {
  const parsed = RESPONSE.parse(body);
  if ('problem' in parsed) return undefined;
  const { token } = parsed.value;
  const { user, roles = [], project } = token;
  const expiresAt = Date.parse(token.expires_at);
  if (Number.isNaN(expiresAt)) return undefined;
  const caller: Caller = {
    id: user.id,
    name: user.name,
    // The agent role is valid only in tokens that are limited to name servers. Keystone tokens have
    // no such limit.
    roles: roles.map(({ name }) => name).filter((name) => name.toLowerCase() !== AGENT_ROLE),
    projectId: project?.id ?? null,
    expiresAt: parseTimestamp(token.expires_at) ?? null,
    allProjects: false,
    scope: scopeOf(token),
  };
  return { caller, expiresAt };
}

/** Both times are from Keystone's clock, so clock skew has no effect. */
export function readLifetimeSeconds(body: unknown): number | undefined {
  const parsed = TIMES.parse(body);
  if ('problem' in parsed) return undefined;
  const { issued_at: issued, expires_at: expires } = parsed.value.token;
  const seconds = (Date.parse(expires) - Date.parse(issued)) / 1000;
  return Number.isNaN(seconds) ? undefined : seconds;
}

function scopeOf({ project, domain, system }: ValueOf<typeof DESCRIPTION>): Scope {
  if (project !== undefined) return 'project';
  if (domain !== undefined) return 'domain';
  return system?.all === true ? 'system' : 'none';
}
