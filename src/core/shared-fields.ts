import { integer, list, nullable, text, timestamp, uuid, type Field, type Kind } from './field.ts';

export function serviceField<T>(kind: Kind<T>, value: T, description: string, example: T) {
  return {
    ...kind,
    description,
    example,
    onCreate: { default: value },
    set: 'by the service',
  } as const;
}

/** Returns a timestamp field that the service sets. The initial value is null. */
export function serviceTime(
  description: string,
  example: string | null = '2030-01-31T12:00:00.000000',
) {
  return serviceField(nullable(timestamp()), null, description, example);
}

/** Returns an optional field. The value of an omitted field is null. */
export function optionalField<T>(kind: Kind<T>, description: string, example: T | null) {
  return { ...nullable(kind), description, example, onCreate: { default: null } } as const;
}

/** Returns a field that no response shows, and that each creation states. */
export function hiddenField<T>(kind: Kind<T>, description: string) {
  return { ...kind, set: 'hidden', example: null, description, onCreate: 'required' } as const;
}

export function note(description: string, example: string) {
  return optionalField(text({ min: 0, max: 160 }), description, example);
}

export const MAX_LIMIT_ITEMS = 100;

export function limitField(collection: string, description: string) {
  const field = optionalField(list(uuid(), 1, MAX_LIMIT_ITEMS), description, null);
  return { ...field, refersTo: collection } as const;
}

/** Returns a kind for text of at most `max` characters without control characters. */
export function line(max: number): Kind<string> {
  return text({
    min: 1,
    max,
    problemOf: (value) =>
      /\p{Cc}/u.test(value) ? 'must not contain control characters' : undefined,
  });
}

/** Text of at most 64 characters. `characters` describes what `pattern` permits. */
export function word(pattern: RegExp, characters: string): Kind<string> {
  return text({
    min: 1,
    max: 64,
    pattern: pattern.source,
    problemOf: (value) => (pattern.test(value) ? undefined : `must contain only ${characters}`),
  });
}

export function hostName(): Kind<string> {
  return word(/^[A-Za-z0-9_.-]+$/, 'letters, digits, `_`, `.` and `-`');
}

/** The field for the version of a key. Callers see the version in the status of delivery. */
export const keyVersion = {
  ...integer(1),
  description: 'The number of changes to the key that affect name servers.',
  example: 1,
  onCreate: { default: 1 },
  set: 'hidden',
} satisfies Field<number>;
