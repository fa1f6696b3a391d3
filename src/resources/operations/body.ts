import { isDeepStrictEqual } from 'node:util';
import { invalidObject, ServiceError, type Problem } from '../../core/errors.ts';
import { isObject, normaliseUuid } from '../../core/field.ts';
import {
  givenFields,
  isReadOnly,
  perType,
  type DraftFields,
  type Fields,
  type Given,
  type ResourceOf,
  type ResourceType,
  type Resource,
} from '../../core/resource.ts';
import type { Settings } from '../../core/settings.ts';
import type { FoundReferences } from './references.ts';
import { shorten } from '../../core/text/token-form.ts';

/** Returns the fields in their stored form, with defaults. Throws `invalid_object`. */
export function readCreation<F extends Fields>(
  type: ResourceType<F>,
  body: unknown,
  settings: Settings,
  references?: FoundReferences,
): DraftFields<F> {
  // safe: every field is in the request or has a default
  return {
    ...defaults(type),
    ...readMembers(type, body, settings, undefined, references),
  } as DraftFields<F>;
}

/** Returns the given fields in their stored form. Throws `invalid_object`. */
export function readChanges<F extends Fields>(
  type: ResourceType<F>,
  body: unknown,
  settings: Settings,
  current: ResourceOf<F>,
  references?: FoundReferences,
): Given<F> {
  return readMembers(type, body, settings, current, references) as Given<F>;
}

function readMembers(
  type: ResourceType,
  body: unknown,
  settings: Settings,
  current: Resource | undefined,
  references?: FoundReferences,
): Given {
  if (!isObject(body)) {
    throw new ServiceError(
      'invalid_object',
      `The request body must be a JSON object that describes a ${type.title}`,
    );
  }
  const members = new Map<string, unknown>(Object.entries(body));
  const given: Record<string, unknown> = {};
  const problems: Problem[] =
    references === undefined ? [] : replaceReferences(type, members, references);
  for (const name of givenFields(type)) {
    const field = type.fields[name];
    if (field === undefined) continue;
    if (members.has(name) && members.get(name) === undefined) given[name] = undefined;
    else if (members.has(name)) {
      const parsed = field.parse(members.get(name));
      if ('problem' in parsed) {
        given[name] = undefined;
        problems.push({
          path: [name],
          message: `'${name}' ${parsed.problem}`,
          validator: parsed.validator,
        });
      } else if (current === undefined || field.set !== 'once') given[name] = parsed.value;
      else if (!isDeepStrictEqual(parsed.value, current[name]))
        problems.push({
          path: [name],
          message: `'${name}' cannot be changed`,
          validator: 'immutable',
        });
    } else if (current === undefined && field.onCreate === 'required') {
      problems.push({
        path: [name],
        message: `'${name}' is a required property${otherwise(type, name)}`,
        validator: 'required',
      });
    }
    members.delete(name);
  }
  for (const [name, kind] of Object.entries(type.requestOnly ?? {})) {
    if (current !== undefined || !members.has(name)) continue;
    const parsed = kind.parse(members.get(name));
    if ('value' in parsed) given[name] = parsed.value;
    else
      problems.push({
        path: [name],
        message: `'${name}' ${parsed.problem}`,
        validator: parsed.validator,
      });
    members.delete(name);
  }
  const ignored = isWrittenBack(members, current);
  for (const name of members.keys())
    if (!ignored || !isReadOnly(type, name)) problems.push(unexpectedMember(type, name, current));
  for (const problem of type.problems?.(given, settings, current) ?? []) {
    problems.push({ ...problem, message: `'${problem.path.join('.')}' ${problem.message}` });
  }
  if (problems.length > 0) throw invalidObject(type.title, problems);
  return given;
}

/** Returns which members a request may contain instead of a required one, if there are any. */
function otherwise({ references = {} }: ResourceType, name: string): string {
  const members = Object.entries(references).flatMap(([member, { fields }]) =>
    Object.hasOwn(fields(''), name) ? [`'${member}'`] : [],
  );
  return members.length === 0 ? '' : `, unless the request has ${members.join(' or ')}`;
}

/**
 * Replaces members that name other resources with the fields that refer to these. A field whose
 * reference was not found becomes undefined, which is not a JSON value.
 */
function replaceReferences(
  { references = {} }: ResourceType,
  members: Map<string, unknown>,
  found: FoundReferences,
): Problem[] {
  const problems: Problem[] = [];
  const excluded = (member: string, other: string): Problem => ({
    path: [member],
    message: `'${member}' cannot be given together with '${other}'`,
    validator: 'not_allowed',
  });
  for (const member of found.keys()) members.delete(member);
  const [first, second] = found.keys();
  if (first !== undefined && second !== undefined) problems.push(excluded(second, first));
  const values = new Map<string, string | undefined>();
  for (const [member, result] of found) {
    if (!('id' in result)) problems.push(result);
    const id = 'id' in result && second === undefined ? result.id : undefined;
    for (const [field, value] of Object.entries(references[member]?.fields(id ?? '') ?? {})) {
      if (members.has(field)) problems.push(excluded(member, field));
      values.set(field, id === undefined || members.has(field) ? undefined : value);
    }
  }
  for (const [field, value] of values) members.set(field, value);
  return problems;
}

const defaults = perType((type): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(type.fields).flatMap(([name, { onCreate }]) =>
      onCreate === 'required' ? [] : [[name, onCreate.default]],
    ),
  ),
);

/**
 * Returns whether a body is a whole resource that a client read, changed and writes back. The
 * members that only the service sets may be older than the resource, so they are ignored.
 */
function isWrittenBack(
  members: ReadonlyMap<string, unknown>,
  current: Resource | undefined,
): boolean {
  const id = members.get('id');
  return (
    current !== undefined &&
    typeof id === 'string' &&
    normaliseUuid(id) === current.id &&
    members.get('created_at') === current.created_at
  );
}

function unexpectedMember(
  type: ResourceType,
  name: string,
  current: Resource | undefined,
): Problem {
  if (Object.hasOwn(type.requestOnly ?? {}, name))
    return {
      path: [name],
      message: `'${name}' cannot be changed here. Use PUT /v2/${type.collection}/{id}/${name}`,
      validator: 'immutable',
    };
  return isReadOnly(type, name)
    ? {
        path: [name],
        message:
          current === undefined
            ? `'${name}' is set by the service and cannot be given`
            : `'${name}' is set by the service. Omit '${name}', or send the whole resource with its own 'id' and 'created_at'`,
        validator: 'readOnly',
      }
    : {
        path: [shorten(name)],
        message: `'${shorten(name)}' is not a known property`,
        validator: 'additionalProperties',
      };
}
