import type { Caller } from '../../core/caller.ts';
import { ServiceError, type Problem } from '../../core/errors.ts';
import { isObject, isStorableText } from '../../core/field.ts';
import type { Reader } from '../../core/ports.ts';
import { type Condition, uniqueFormOfText } from '../../core/query.ts';
import { uniqueOf, type Reference, type Resource, type ResourceType } from '../../core/resource.ts';
import { requireRight, type Policy } from '../policy.ts';
import type { Parameter } from './list-query.ts';

const LISTED_IDS = 5;

/** An id that no resource has (RFC 9562 section 5.9). */
const NIL_ID = '00000000-0000-0000-0000-000000000000';

export interface ReferenceDependencies {
  readonly reader: Pick<Reader, 'find'>;
  readonly policy: Policy;
  readonly caller: Caller;
  isVisible(type: ResourceType, resource: Resource): boolean | Promise<boolean>;
}

/** For each member of a body that refers to a resource, the id of the resource or the problem. */
export type FoundReferences = ReadonlyMap<string, { readonly id: string } | Problem>;

const NO_REFERENCES: FoundReferences = new Map();

/** Throws `access_denied` unless the caller may list resources of the types in the body. */
export async function findReferences(
  dependencies: ReferenceDependencies,
  type: ResourceType,
  body: unknown,
): Promise<FoundReferences> {
  if (type.references === undefined || !isObject(body)) return NO_REFERENCES;
  const found = new Map<string, { id: string } | Problem>();
  for (const [member, reference] of Object.entries(type.references)) {
    if (!Object.hasOwn(body, member)) continue;
    const name = body[member];
    const result = await findByName(dependencies, reference, name);
    found.set(
      member,
      'id' in result
        ? result
        : {
            path: [member],
            message: `'${member}' ${result.problem}`,
            validator: typeof name === 'string' ? 'reference' : 'type',
          },
    );
  }
  return found;
}

/**
 * No resource meets the condition for an unknown name. Throws `bad_request` for an ambiguous name,
 * and `access_denied` if the caller may not list resources of that type.
 */
export async function readReferenceFilters(
  dependencies: ReferenceDependencies,
  type: ResourceType,
  parameters: readonly Parameter[],
): Promise<{
  readonly conditions: readonly Condition[];
  readonly otherParameters: readonly Parameter[];
}> {
  const { references } = type;
  if (references === undefined || parameters.length === 0)
    return { conditions: [], otherParameters: parameters };
  const given = parameters.filter(([name]) => Object.hasOwn(references, name));
  if (given.length === 0) return { conditions: [], otherParameters: parameters };
  if (given.length > 1)
    throw new ServiceError(
      'bad_request',
      `Too many filters by name. Use only one of these filters: ${Object.keys(references).join(', ')}`,
    );
  const conditions: Condition[] = [];
  for (const [name, value] of given) {
    const reference = references[name];
    if (reference === undefined) continue;
    const result = await findByName(dependencies, reference, value);
    if ('problem' in result && result.isAmbiguous)
      throw new ServiceError('bad_request', `The filter ${name} ${result.problem}`);
    const id = 'id' in result ? result.id : NIL_ID;
    for (const [field, expected] of Object.entries(reference.fields(id)))
      conditions.push({ field, test: '=', value: expected });
  }
  return {
    conditions,
    otherParameters: parameters.filter(([name]) => !Object.hasOwn(references, name)),
  };
}

/** Throws `bad_request` for a repeated selector. */
export async function readSelectors(
  reader: Pick<Reader, 'find'>,
  { selectors = {} }: ResourceType,
  parameters: readonly Parameter[],
): Promise<{
  readonly conditions: readonly Condition[];
  readonly otherParameters: readonly Parameter[];
}> {
  const isSelector = ([name]: Parameter) => Object.hasOwn(selectors, name);
  const given = parameters.filter(isSelector);
  if (given.length === 0) return { conditions: [], otherParameters: parameters };
  const doubled = given.find(
    ([name], index) => given.findIndex((each) => each[0] === name) < index,
  );
  if (doubled !== undefined)
    throw new ServiceError('bad_request', `Duplicate filters ${doubled[0]}`);
  const conditions: Condition[] = [];
  for (const [name, value] of given) {
    const found = isStorableText(value)
      ? ((await selectors[name]?.select(value, reader)) ?? [])
      : [];
    conditions.push({ field: 'id', test: 'in', values: found.length === 0 ? [NIL_ID] : found });
  }
  return { conditions, otherParameters: parameters.filter((parameter) => !isSelector(parameter)) };
}

async function findByName(
  { reader, policy, caller, isVisible }: ReferenceDependencies,
  { type, fields }: Reference,
  name: unknown,
): Promise<{ readonly id: string } | { readonly problem: string; readonly isAmbiguous: boolean }> {
  requireRight(policy, caller, `${type.collection}:list`);
  if (typeof name !== 'string') return { problem: 'must be a string', isAmbiguous: false };
  const unknown = { problem: `must be the name of ${existing(type)}`, isAmbiguous: false };
  if (name === '' || !isStorableText(name)) return unknown;
  const named = await reader.find(type, uniqueOf(type).field, [uniqueFormOfText(type, name)]);
  const visible: Resource[] = [];
  for (const resource of named) if (await isVisible(type, resource)) visible.push(resource);
  const [first, ...more] = visible;
  if (first === undefined) return unknown;
  if (more.length === 0) return { id: first.id };
  const ids = [first, ...more].map(({ id }) => id);
  const listed = [...ids.slice(0, LISTED_IDS), ...(ids.length > LISTED_IDS ? ['...'] : [])];
  return {
    isAmbiguous: true,
    problem: `is the name of ${ids.length} ${type.collection} (${listed.join(', ')}). Use ${Object.keys(fields('')).join(' and ')} instead`,
  };
}

function existing({ noun, owner }: ResourceType): string {
  return owner === undefined
    ? `an existing ${noun}`
    : `an existing ${noun} in your project. With X-Auth-All-Projects: true, it can be in any project`;
}
