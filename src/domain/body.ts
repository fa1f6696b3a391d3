import { ServiceError, type Problem } from './errors.ts';
import { READ_ONLY_MEMBERS, shownFields, type ResourceType, type Row } from './resource.ts';
import type { Settings } from './settings.ts';

/** The most problems one answer lists. */
const MAX_PROBLEMS = 50;

/**
 * The fields that a request body gives, checked and in the form that is kept. For a creation, absent fields
 * get their defaults. Throws `invalid_object` with everything that is wrong with the body, not just the first.
 */
export function readBody(type: ResourceType, body: unknown, creating: boolean, settings: Settings): Row {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ServiceError('invalid_object', `The request body must be a JSON object that describes a ${type.title}`);
  }
  const given = new Map(Object.entries(body));
  const fields: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const name of shownFields(type)) {
    const field = type.fields[name];
    if (field === undefined) continue;
    if (given.has(name)) {
      const parsed = field.parse(given.get(name));
      if ('value' in parsed) fields[name] = parsed.value;
      else problems.push({ path: [name], message: `'${name}' ${parsed.problem}`, validator: parsed.validator });
    } else if (creating && field.onCreate === 'required') {
      problems.push({ path: [name], message: `'${name}' is a required property`, validator: 'required' });
    } else if (creating && field.onCreate !== 'required') {
      fields[name] = field.onCreate.default;
    }
    given.delete(name);
  }
  for (const name of given.keys()) problems.push(unexpectedMember(name));
  for (const problem of type.problems?.(fields, settings) ?? []) {
    problems.push({ ...problem, message: `'${problem.path.join('.')}' ${problem.message}` });
  }
  if (problems.length > 0) throw invalidObject(type, problems);
  return fields;
}

function unexpectedMember(name: string): Problem {
  return (READ_ONLY_MEMBERS as readonly string[]).includes(name)
    ? { path: [name], message: `'${name}' is set by the service and cannot be given`, validator: 'readOnly' }
    : { path: [shorten(name)], message: `'${shorten(name)}' is not a known property`, validator: 'additionalProperties' };
}

function shorten(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name;
}

function invalidObject(type: ResourceType, problems: Problem[]): ServiceError {
  const listed = problems.slice(0, MAX_PROBLEMS);
  const more = problems.length > listed.length ? [`and ${problems.length - listed.length} more`] : [];
  const message = `Invalid ${type.title}: ${[...listed.map((problem) => problem.message), ...more].join('; ')}`;
  return new ServiceError('invalid_object', message, { problems: listed });
}
