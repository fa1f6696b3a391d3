import { integer, type Field } from '../model/field.ts';

/** The version of a key, which callers see in the status of its delivery. */
export const keyVersion = {
  ...integer(1),
  description: 'The number of changes to the key that name servers need.',
  example: 1,
  onCreate: { default: 1 },
  set: 'hidden',
} satisfies Field<number>;
