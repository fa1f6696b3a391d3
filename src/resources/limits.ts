import { LIMIT_KINDS, type LimitKind, type Limits } from '../core/caller.ts';
import type { AnyOf, FieldCondition, Membership } from '../core/query.ts';
import type { IndexReader, Resource, ResourceType } from '../core/resource.ts';
import { nameServer } from './name-server.ts';
import { pool } from './pool.ts';
import { tsigkey } from './tsigkey.ts';
import { CHOOSE_POOL } from './zone-fields.ts';
import { zone } from './zone.ts';

/** One way in which resources of a type are within a limit. */
interface Reach {
  readonly type: ResourceType;
  /** The member that has one of the ids of the limit. */
  readonly field: string;
  /**
   * Set if a resource of another type decides: `field` must have the value of its member `of.is`,
   * by default its id, and its member `of.field` one of the ids.
   */
  readonly of?: { readonly type: ResourceType; readonly field: string; readonly is?: string };
  readonly where?: { readonly field: string; readonly value: string };
  /** The members that an update must not change. */
  readonly fixed?: readonly string[];
}

interface Kind {
  readonly type: ResourceType;
  /** The rights that the limit includes. A role of the token must also have the right. */
  readonly rights: readonly string[];
  readonly reach: readonly Reach[];
}

/** The rights to change the request context. These rights make no further resources visible. */
const CONTEXT_RIGHTS = [
  'use_sudo',
  'all_projects',
  'read_all_projects',
  'edit_managed_records',
  'hard_delete',
];

/** The rights of agents: to read the keys for a name server, and to report the keys on it. */
export const AGENT_RIGHTS = [
  `${nameServer.collection}:desired`,
  `${nameServer.collection}:observe`,
] as const;

export const GRANT_RIGHT = `${tsigkey.collection}:grant`;

/** The rights to replace a key, and to take each step by hand. */
export const ROTATE_RIGHT = `${tsigkey.collection}:rotate`;
export const RETIRE_RIGHT = `${tsigkey.collection}:retire`;
export const ABORT_RIGHT = `${tsigkey.collection}:abort`;
export const CONFIRM_RIGHT = `${tsigkey.collection}:confirm`;
export const RESTORE_RIGHT = `${tsigkey.collection}:restore`;
export const ROTATION_RIGHTS = [
  ROTATE_RIGHT,
  RETIRE_RIGHT,
  ABORT_RIGHT,
  CONFIRM_RIGHT,
  RESTORE_RIGHT,
] as const;

const READ = ['list', 'get'] as const;
const CHANGE = [...READ, 'update', 'delete'] as const;
const ALL = [...CHANGE, 'create'] as const;

function rightsTo(type: ResourceType, actions: readonly string[]): string[] {
  return actions.map((action) => `${type.collection}:${action}`);
}

const KEY_RIGHTS = [
  ...rightsTo(tsigkey, [...ALL, 'reveal']),
  GRANT_RIGHT,
  ...ROTATION_RIGHTS,
  ...CONTEXT_RIGHTS,
];

/** The pool of a zone, which a caller reads to manage the keys of the zone. */
const POOL_OF_ZONE = { type: zone, field: 'id', is: 'pool_id' } as const;

/**
 * Every kind of limit. Limits exclude every right and every resource type that is not listed here.
 * To add a kind, add its member to `LIMIT_KINDS` and to the definition of tokens.
 */
const KINDS: Readonly<Record<LimitKind, Kind>> = {
  pools: {
    type: pool,
    rights: [
      ...rightsTo(pool, READ),
      ...rightsTo(nameServer, READ),
      ...rightsTo(zone, ALL),
      CHOOSE_POOL,
      ...KEY_RIGHTS,
    ],
    reach: [
      { type: pool, field: 'id' },
      { type: nameServer, field: 'pool_id' },
      { type: zone, field: 'pool_id' },
      { type: tsigkey, field: 'resource_id', where: { field: 'scope', value: 'POOL' } },
      {
        type: tsigkey,
        field: 'resource_id',
        of: { type: zone, field: 'pool_id' },
        where: { field: 'scope', value: 'ZONE' },
      },
    ],
  },
  zones: {
    type: zone,
    rights: [
      ...rightsTo(pool, READ),
      ...rightsTo(nameServer, READ),
      ...rightsTo(zone, CHANGE),
      ...KEY_RIGHTS,
    ],
    reach: [
      { type: zone, field: 'id' },
      { type: pool, field: 'id', of: POOL_OF_ZONE },
      { type: nameServer, field: 'pool_id', of: POOL_OF_ZONE },
      { type: tsigkey, field: 'resource_id', where: { field: 'scope', value: 'ZONE' } },
    ],
  },
  keys: {
    type: tsigkey,
    rights: [...rightsTo(tsigkey, [...CHANGE, 'reveal']), ...CONTEXT_RIGHTS],
    // A caller that knows the secret could otherwise use the key for another pool or zone.
    reach: [{ type: tsigkey, field: 'id', fixed: ['scope', 'resource_id'] }],
  },
  nameservers: {
    type: nameServer,
    rights: AGENT_RIGHTS,
    reach: [{ type: nameServer, field: 'id' }],
  },
};

export function typeOfLimit(kind: LimitKind): ResourceType {
  return KINDS[kind].type;
}

/** Returns the limits of a token with these members, or undefined for a token without limits. */
export function limitsOf(
  token: Readonly<Record<LimitKind, readonly string[] | null>>,
): Limits | undefined {
  const limits: [LimitKind, readonly string[]][] = [];
  for (const kind of LIMIT_KINDS) {
    const ids = token[kind];
    if (ids !== null) limits.push([kind, ids]);
  }
  return limits.length === 0 ? undefined : Object.fromEntries(limits);
}

export function kindsWith(right: string): LimitKind[] {
  return LIMIT_KINDS.filter((kind) => KINDS[kind].rights.includes(right));
}

export function keepsRight(limits: Limits, right: string): boolean {
  return LIMIT_KINDS.some((kind) => kind in limits && KINDS[kind].rights.includes(right));
}

function reachOf(limits: Limits, type: ResourceType): { reach: Reach; ids: readonly string[] }[] {
  return LIMIT_KINDS.flatMap((kind) => {
    const ids = limits[kind];
    if (ids === undefined) return [];
    return KINDS[kind].reach
      .filter((reach) => reach.type === type)
      .map((reach) => ({ reach, ids }));
  });
}

export function limitCondition(limits: Limits, type: ResourceType): AnyOf {
  return {
    test: 'any',
    alternatives: reachOf(limits, type).map(({ reach, ids }): FieldCondition[] => {
      const { field, of, where } = reach;
      const membership: Membership = {
        field,
        test: 'in',
        values: ids,
        ...(of === undefined
          ? {}
          : { of: { collection: of.type.collection, field: of.field, is: of.is ?? 'id' } }),
      };
      return where === undefined ? [membership] : [{ ...where, test: '=' }, membership];
    }),
  };
}

/** Applies `limitCondition` to one resource. `current` is the resource before an update. */
export async function isWithinLimits(
  limits: Limits,
  type: ResourceType,
  resource: Readonly<Record<string, unknown>>,
  reader: Pick<IndexReader, 'find'>,
  current?: Resource,
): Promise<boolean> {
  for (const { reach, ids } of reachOf(limits, type)) {
    const { field, of, where, fixed = [] } = reach;
    if (where !== undefined && resource[where.field] !== where.value) continue;
    if (current !== undefined && fixed.some((name) => resource[name] !== current[name])) continue;
    const value = String(resource[field]);
    if (of === undefined) {
      if (ids.includes(value)) return true;
      continue;
    }
    const { type: other, field: member, is = 'id' } = of;
    const found = await reader.find(other, 'id', is === 'id' ? [value] : ids);
    if (found.some((each) => String(each[is]) === value && ids.includes(String(each[member]))))
      return true;
  }
  return false;
}
