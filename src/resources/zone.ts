import { ADMIN } from '../core/caller.ts';
import { comparisonForm, treeForm } from '../core/text/dns-name.ts';
import type { Problem } from '../core/errors.ts';
import { defineResource, OPERATIONS, type Given } from '../core/resource.ts';
import { pool } from './pool.ts';
import { zoneFields, type Zone } from './zone-fields.ts';
import { areOutsideTlds } from './zone-name-rule.ts';

/** A part of the name space that the name servers of a pool serve (RFC 9499 section 7). */
export const zone = defineResource({
  collection: 'zones',
  noun: 'zone',
  title: 'Zone',
  words: { one: 'zone', many: 'zones' },
  description:
    'A DNS zone of a project. The service checks the name of a new zone against the TLD entries.',
  operations: OPERATIONS,
  roles: {
    create: [ADMIN, 'member'],
    list: [ADMIN, 'member', 'reader'],
    get: [ADMIN, 'member', 'reader'],
    update: [ADMIN, 'member'],
    delete: [ADMIN, 'member'],
  },
  statuses: { delete: 202 },
  pending: {
    create: { status: 'PENDING', action: 'CREATE' },
    update: { status: 'PENDING', action: 'UPDATE' },
  },
  owner: 'project_id',
  fields: zoneFields,
  unique: { field: 'name', per: 'pool_id', comparisonForm },
  lookups: { tree: { valueOf: (_zone, name) => treeForm(name) } },
  sortKeys: { tenant_id: 'project_id', serial: 'serial', ttl: 'ttl', status: 'status' },
  filters: {
    name: 'unique',
    type: 'upper',
    email: 'exact',
    status: 'upper',
    description: 'exact',
    ttl: 'integer',
  },
  computedFilters: {
    outside_tlds: {
      description: 'Whether the TLD entries would now reject the name of the zone.',
      right: 'zones:outside_tlds',
      evaluate: (resources, reader, settings) =>
        areOutsideTlds(
          reader,
          resources.map(({ name }) => name),
          settings,
        ),
    },
  },
  references: {
    pool: { type: pool, description: 'this pool', fields: (id) => ({ pool_id: id }) },
  },
  refusals: {
    create: [
      'forbidden',
      'missing_project_id',
      'over_quota',
      'invalid_zone_name',
      'illegal_child',
      'illegal_parent',
      'no_valid_pool_found',
    ],
    delete: ['zone_has_sub_zone', 'key_is_referenced'],
  },
  hasKeys: true,
  variants: [
    { properties: { type: { enum: ['PRIMARY', 'CATALOG'] } }, required: ['email'] },
    { properties: { type: { const: 'SECONDARY' } }, required: ['type', 'masters'] },
  ],
  problems(given, _settings, current) {
    const type = current?.type ?? ('type' in given ? given.type : 'PRIMARY');
    return type === undefined ? [] : typeProblems(given, type, current === undefined);
  },
});

function typeProblems(
  given: Given<typeof zoneFields>,
  type: Zone['type'],
  creating: boolean,
): Problem[] {
  const has = (name: string) => name in given;
  const { masters } = given;
  const problem = (field: string, message: string, validator: string): Problem => ({
    path: [field],
    message,
    validator,
  });
  if (type === 'SECONDARY') {
    return [
      ...(has('email')
        ? [problem('email', 'must not be given for a SECONDARY zone', 'not_allowed')]
        : []),
      ...(has('ttl')
        ? [problem('ttl', 'must not be given for a SECONDARY zone', 'not_allowed')]
        : []),
      ...((creating && !has('masters')) || masters?.length === 0
        ? [problem('masters', 'is required for a SECONDARY zone', 'required')]
        : []),
    ];
  }
  return [
    ...(creating && !has('email') ? [problem('email', 'is a required property', 'required')] : []),
    ...(masters !== undefined && masters.length > 0
      ? [problem('masters', 'must be empty for a PRIMARY zone', 'not_allowed')]
      : []),
  ];
}
