import { isProjectId } from '../core/caller.ts';
import { isRelativeName, withoutFinalDot } from '../core/text/dns-name.ts';
import { integer, list, map, nullable, text } from '../core/field.ts';
import { object } from '../core/object.ts';
import { defineResource, OPERATIONS } from '../core/resource.ts';
import { line, note } from '../core/shared-fields.ts';

/** The id of the pool that always exists. Zones use this pool unless the request names another. */
export const DEFAULT_POOL_ID = '794ccc2c-d751-44fe-b57f-8894c9f5c842';

const hostname = text({
  min: 2,
  max: 254,
  problemOf: (value) =>
    value.endsWith('.') && isRelativeName(withoutFinalDot(value))
      ? undefined
      : 'must be a domain name that ends in a period',
});

const shortText = text({ min: 0, max: 50 });

/** A set of name servers that serve the same zones. */
export const pool = defineResource({
  collection: 'pools',
  noun: 'pool',
  title: 'Pool',
  words: { one: 'pool', many: 'pools' },
  description:
    'A set of name servers that serve the same zones. The pool named default exists from the start.',
  operations: OPERATIONS,
  statuses: { update: 202 },
  fields: {
    project_id: {
      ...nullable(
        text({
          min: 1,
          max: 64,
          problemOf: (value) =>
            isProjectId(value)
              ? undefined
              : 'must contain only letters, digits, `_`, `.`, `:` and `-`',
        }),
      ),
      description:
        'The project of the pool. The default is the project of the caller. Null for the default pool. The project grants no rights.',
      example: '5f2d6a9d0c8a4d8d9d7d0b1f3e7c2a11',
      onCreate: { default: null },
      set: 'once',
    },
    name: {
      ...line(50),
      description: 'The name of the pool. The name must be unique.',
      example: 'anycast',
      onCreate: 'required',
    },
    description: note('A note about the pool.', 'Name servers on the anycast network'),
    attributes: {
      ...map(shortText, shortText, 100),
      description: 'Names and values that describe the pool.',
      example: { tier: 'gold' },
      onCreate: { default: {} },
    },
    ns_records: {
      ...list(object({ priority: integer(1, 10_000), hostname }), 0, 50),
      description: "The NS records of the pool's zones.",
      example: [{ priority: 1, hostname: 'ns1.example.org.' }],
      onCreate: { default: [] },
    },
  },
  unique: { field: 'name', comparisonForm: (name) => name },
  filters: { name: 'unique' },
  refusals: { delete: ['invalid_operation'] },
  hasKeys: true,
});
