import { isRelativeName, MAX_NAME_LENGTH, toAsciiName } from '../core/text/dns-name.ts';
import { text } from '../core/field.ts';
import { defineResource, OPERATIONS, type ResourceOf } from '../core/resource.ts';
import { note } from '../core/shared-fields.ts';

function nameProblem(name: string): string | undefined {
  if (isRelativeName(name)) return undefined;
  if (name.endsWith('.') && isRelativeName(name.slice(0, -1))) return 'must not end in a period';
  const ascii = toAsciiName(name);
  if (ascii !== undefined && isRelativeName(ascii))
    return `must be in its ASCII form: send '${ascii}'`;
  return 'must consist of labels of 1 to 63 letters, digits, hyphens and underscores, separated by single periods. No label can begin or end with a hyphen';
}

/**
 * A top-level domain under which zones may be created. Entries may have several labels (`co.uk`).
 * The service stores them in its database and never sends them to a name server.
 */
export const tld = defineResource({
  collection: 'tlds',
  noun: 'tld',
  title: 'Tld',
  words: { one: 'top-level domain', many: 'top-level domains' },
  description:
    'A top-level domain under which zones may be created. If no entry exists, the service does not check the TLD of zone names.',
  operations: OPERATIONS,
  fields: {
    name: {
      ...text({
        min: 1,
        max: MAX_NAME_LENGTH,
        pattern:
          '^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*$',
        problemOf: nameProblem,
      }),
      description:
        'The domain, in its original spelling and without a trailing dot. The domain must be unique, ignoring case.',
      example: 'com',
      onCreate: 'required',
    },
    description: note('A note about the entry.', 'Commercial'),
  },
  unique: { field: 'name', comparisonForm: (name) => name.toLowerCase() },
  filters: { name: 'unique', description: 'exact' },
});

export type Tld = ResourceOf<(typeof tld)['fields']>;
