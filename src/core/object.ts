import type { Problem } from './error-entry.ts';
import {
  array,
  isObject,
  type Failure,
  type JsonSchema,
  type Kind,
  type ValueOf,
} from './field.ts';
import { shorten } from './text/token-form.ts';

type Optional<T> = Kind<T> & { readonly absent: 'omitted' };

type Defaulted<T> = Kind<T> & { readonly absent: { readonly value: T } };

type Member = Kind & { readonly absent?: 'omitted' | { readonly value: unknown } };
export type Members = Readonly<Record<string, Member>>;
type OptionalName<M extends Members> = {
  [Name in keyof M]: M[Name] extends { readonly absent: 'omitted' } ? Name : never;
}[keyof M];

export type ObjectOf<M extends Members> = {
  readonly [Name in Exclude<keyof M, OptionalName<M>>]: ValueOf<M[Name]>;
} & {
  readonly [Name in OptionalName<M>]?: ValueOf<M[Name]>;
};

export function optional<T>(kind: Kind<T>): Optional<T> {
  return { ...kind, absent: 'omitted' };
}

/** A default of null needs no words in the schema. */
export function withDefault<T>(kind: Kind<T>, value: T): Defaulted<T> {
  const schema = value === null ? kind.schema : { ...kind.schema, default: value };
  return { ...kind, schema, absent: { value } };
}

export function described<K extends Kind>(kind: K, description: string): K {
  return { ...kind, schema: { ...kind.schema, description } };
}

/**
 * The parser reports every problem: first invalid members in the order of the definition, then
 * unknown members, then missing members.
 */
export function object<const M extends Members>(
  members: M,
  /** Whether the parser accepts and ignores unknown members. */
  ignoresOthers = false,
): Kind<ObjectOf<M>> {
  const kinds = Object.entries<Member>(members);
  const names = kinds.map(([name]) => name);
  const required = kinds.flatMap(([name, { absent }]) => (absent === undefined ? [name] : []));
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(
        kinds.map(([name, { schema }]): [string, JsonSchema] => [name, schema]),
      ),
      ...(required.length === 0 ? {} : { required }),
      ...(ignoresOthers ? {} : { additionalProperties: false }),
    },
    parse(value) {
      if (!isObject(value)) return { problem: 'must be an object', validator: 'type' };
      const parsed: Record<string, unknown> = {};
      const [invalid, missing]: [Problem[], Problem[]] = [[], []];
      let first: Failure | undefined;
      for (const [name, kind] of kinds) {
        const isGiven = Object.hasOwn(value, name);
        if (!isGiven && kind.absent !== undefined) {
          if (kind.absent !== 'omitted') parsed[name] = kind.absent.value;
          continue;
        }
        const member = kind.parse(isGiven ? value[name] : undefined);
        if ('value' in member) {
          parsed[name] = member.value;
          continue;
        }
        first ??= {
          problem: `must have a '${name}' that ${member.problem}`,
          validator: member.validator,
        };
        if (isGiven) invalid.push(...problemsOf(name, member));
        else
          missing.push({
            path: [name],
            message: `'${name}' is a required property`,
            validator: 'required',
          });
      }
      const unknown = ignoresOthers
        ? []
        : Object.keys(value).filter((name) => !Object.hasOwn(members, name));
      if (unknown.length > 0)
        first = {
          problem: `must have only the members ${names.join(', ')}`,
          validator: 'additionalProperties',
        };
      if (first === undefined) return { value: parsed as ObjectOf<M> };
      return { ...first, problems: [...invalid, ...unknown.map(unknownMember), ...missing] };
    },
  };
}

/** Later versions may add members to a response, so clients must accept unknown members. */
export function responseObject<const M extends Members>(members: M): Kind<ObjectOf<M>> {
  return object(members, true);
}

function problemsOf(name: string, { problem, validator, problems }: Failure): readonly Problem[] {
  if (problems !== undefined)
    return problems.map((each) => ({ ...each, path: [name, ...each.path] }));
  return [{ path: [name], message: `'${name}' ${problem}`, validator }];
}

function unknownMember(name: string): Problem {
  return {
    path: [shorten(name)],
    message: `'${shorten(name)}' is not a known property`,
    validator: 'additionalProperties',
  };
}

/** Messages call the items `what`. The parser does not parse them: its caller does, in slices. */
export function unparsedList(
  items: JsonSchema,
  min: number,
  max: number,
  what: string,
): Kind<readonly unknown[]> {
  return {
    schema: { type: 'array', minItems: min, maxItems: max, items },
    parse(value) {
      if (Array.isArray(value) && value.length >= min && value.length <= max) return { value };
      return {
        problem: `must be an array of ${min} to ${max} ${what}`,
        validator: Array.isArray(value) ? 'items' : 'type',
      };
    },
  };
}

/** A list in a response that the service writes one item at a time. */
export function sequence<T>(item: Kind<T>): Kind<Iterable<T>> {
  return list(item);
}

export function list<T>(item: Kind<T>): Kind<readonly T[]> {
  const { parse } = array(item, 0, Number.MAX_SAFE_INTEGER);
  return { schema: { type: 'array', items: item.schema }, parse };
}
