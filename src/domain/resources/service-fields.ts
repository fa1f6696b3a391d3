import { integer, type Field, type Kind } from '../model/field.ts';

/** Returns a field that the service sets, with the initial value `value`. */
export function serviceField<T>(kind: Kind<T>, value: T, description: string, example: T) {
  return {
    ...kind,
    description,
    example,
    onCreate: { default: value },
    set: 'by the service',
  } as const;
}

/** The version of a key, which callers see in the status of its delivery. */
export const keyVersion = {
  ...integer(1),
  description: 'The number of changes to the key that name servers need.',
  example: 1,
  onCreate: { default: 1 },
  set: 'hidden',
} satisfies Field<number>;
