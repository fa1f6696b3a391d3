import { describe, expect, test } from 'vitest';
import type { Caller } from '../../../src/domain/model/caller.ts';
import {
  CONFIGURABLE_RIGHTS,
  DEFAULT_POLICY,
  may,
  requireRight,
} from '../../../src/domain/resources/policy.ts';

const withRoles = (...roles: string[]): Caller => ({
  id: 'id',
  name: 'name',
  roles,
  projectId: null,
  allProjects: false,
});

describe('the default policy', () => {
  test.each(Object.keys(DEFAULT_POLICY))(
    'grants %s to the role admin in any case, and to no unknown role',
    (right) => {
      expect(may(DEFAULT_POLICY, withRoles('admin'), right)).toBe(true);
      expect(may(DEFAULT_POLICY, withRoles('member', 'ADMIN'), right)).toBe(true);
      for (const roles of [[], ['administrator'], ['']])
        expect(may(DEFAULT_POLICY, withRoles(...roles), right)).toBe(false);
    },
  );

  test.each(['', 'tlds', 'tlds:patch', 'tokens:update', 'use_sudo '])(
    'grants the unknown right %j to no one',
    (right) => {
      expect(may(DEFAULT_POLICY, withRoles('admin'), right)).toBe(false);
    },
  );
});

describe('a configured policy', () => {
  const policy = { ...DEFAULT_POLICY, 'tlds:list': ['admin', 'Reader'], 'tlds:get': ['auditor'] };

  test.each([
    ['tlds:list', ['reader'], true],
    ['tlds:list', ['READER'], true],
    ['tlds:list', ['admin'], true],
    ['tlds:list', ['auditor'], false],
    ['tlds:get', ['auditor'], true],
    ['tlds:get', ['admin'], false],
    ['tlds:create', ['reader', 'auditor'], false],
  ])('the right %s for the roles %j: %s', (right, roles, allowed) => {
    expect(may(policy, withRoles(...roles), right)).toBe(allowed);
    const require = () => requireRight(policy, withRoles(...roles), right);
    if (allowed) expect(require).not.toThrow();
    else expect(require).toThrow(expect.objectContaining({ code: 'access_denied' }));
  });
});

test('every right is configurable, apart from the rights on tokens', () => {
  const fixed = Object.keys(DEFAULT_POLICY).filter((right) => !CONFIGURABLE_RIGHTS.includes(right));
  expect(fixed.toSorted()).toEqual(['tokens:create', 'tokens:delete', 'tokens:get', 'tokens:list']);
  for (const right of ['tlds:list', 'tsigkeys:create', 'use_sudo', 'all_projects'])
    expect(CONFIGURABLE_RIGHTS).toContain(right);
});
