import { Option } from 'commander';
import type { Reference, ResourceType } from '../../core/resource.ts';
import type { Connection } from '../service/client.ts';
import { findId, readEverywhere } from '../service/resource-requests.ts';
import { dashed } from './flag.ts';
import { nameFormOf } from './names.ts';

/**
 * Returns the flags that name other resources: `--pool default` instead of `--resource-id ID`.
 * `purpose` begins the descriptions of the flags, such as `apply the key to`.
 */
export function referenceOptions(type: ResourceType, purpose: string): Option[] {
  const references = referencesOf(type);
  return references.map(({ type, description, fields }) =>
    new Option(`--${type.noun} <${type.noun}>`, `${purpose} ${description} (name or id)`).conflicts(
      [
        ...references.filter((other) => other.type !== type).map((other) => other.type.noun),
        ...Object.keys(fields('')).map((name) => new Option(`--${dashed(name)}`).attributeName()),
      ],
    ),
  );
}

export function hasReferences(
  type: ResourceType,
  flags: Readonly<Record<string, unknown>>,
): boolean {
  return referencesOf(type).some((reference) => reference.type.noun in flags);
}

/**
 * Returns the fields that flags such as `--pool` set. Throws `CommandError` if the resource does
 * not exist.
 */
export async function readReferences(
  type: ResourceType,
  flags: Readonly<Record<string, unknown>>,
  connection: Connection,
): Promise<Readonly<Record<string, string>>> {
  for (const reference of referencesOf(type)) {
    const text = flags[reference.type.noun];
    if (typeof text === 'string')
      return reference.fields(await referredId(connection, reference.type, text));
  }
  return {};
}

function referencesOf({ references = {} }: ResourceType): Reference[] {
  return Object.values(references);
}

interface ReferringMember {
  readonly refersTo?: ResourceType;
}

/**
 * Returns the members of `given` whose flags take names, with ids in place of the names. Throws
 * `CommandError` if a resource does not exist.
 */
export async function readListedIds(
  flags: Readonly<Record<string, ReferringMember>>,
  given: Readonly<Record<string, unknown>>,
  connection: Connection,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const members: [string, string[]][] = [];
  for (const [name, { refersTo }] of Object.entries(flags)) {
    const texts = given[name];
    if (refersTo === undefined || !Array.isArray(texts)) continue;
    const ids: string[] = [];
    for (const text of texts) ids.push(await referredId(connection, refersTo, String(text)));
    members.push([name, [...new Set(ids)]]);
  }
  return Object.fromEntries(members);
}

/**
 * Returns the id of the resource with this name or id. For a type with owners, searches all
 * projects if the caller may see them, and otherwise the caller's project.
 */
export async function referredId(
  connection: Connection,
  type: ResourceType,
  text: string,
): Promise<string> {
  const find = (from: Connection) => findId(from, type, text, nameFormOf(type));
  return type.owner === undefined ? find(connection) : readEverywhere(connection, find);
}
