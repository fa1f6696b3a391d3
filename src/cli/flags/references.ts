import { Option } from 'commander';
import { pool } from '../../domain/resources/pool.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import { zone } from '../../domain/resources/zone.ts';
import type { Connection } from '../service/client.ts';
import { CommandError } from '../output/errors.ts';
import { findId } from '../service/resource-requests.ts';
import { absoluteAsciiName } from './names.ts';

/** A flag that names another resource: `--pool default` instead of `--resource-id 794ccc2c-…`. */
export interface Reference {
  /** The resource type. Its noun is the flag. */
  readonly type: ResourceType;
  readonly description: string;
  /** Returns the fields that refer to the resource with this id. */
  fields(id: string): Readonly<Record<string, string>>;
}

/** The pool or zone of a key. */
export const KEY_REFERENCES: readonly Reference[] = [
  {
    type: pool,
    description: 'every zone of this pool',
    fields: (id) => ({ scope: 'POOL', resource_id: id }),
  },
  {
    type: zone,
    description: 'this zone',
    fields: (id) => ({ scope: 'ZONE', resource_id: id }),
  },
];

/** The pool of a zone. */
export const ZONE_REFERENCES: readonly Reference[] = [
  { type: pool, description: 'this pool', fields: (id) => ({ pool_id: id }) },
];

/**
 * Returns the flags of references. `purpose` is their description without the resource: `apply the
 * key to`.
 */
export function referenceOptions(references: readonly Reference[], purpose: string): Option[] {
  return references.map(({ type, description, fields }) =>
    new Option(
      `--${type.noun} <${type.noun}>`,
      `${purpose} ${description}, by its name or id`,
    ).conflicts([
      ...references.filter((other) => other.type !== type).map((other) => other.type.noun),
      ...Object.keys(fields('')).map((name) => new Option(`--${dashed(name)}`).attributeName()),
    ]),
  );
}

/**
 * Returns the fields that the flags of references select. Throws `CommandError` unless the resource
 * exists.
 */
export async function readReferences(
  references: readonly Reference[],
  flags: Readonly<Record<string, unknown>>,
  connection: Connection,
): Promise<Readonly<Record<string, string>>> {
  for (const { type, fields } of references) {
    const text = flags[type.noun];
    if (typeof text === 'string') return fields(await referredId(connection, type, text));
  }
  return {};
}

/**
 * Returns the id of a zone of any project if the caller may see all projects; otherwise of its own
 * project.
 */
async function referredId(
  connection: Connection,
  type: ResourceType,
  text: string,
): Promise<string> {
  const toName = type === zone ? absoluteAsciiName : (name: string) => name;
  const everywhere = {
    ...connection,
    headers: { ...connection.headers, 'x-auth-all-projects': 'true' },
  };
  if (type.owner === undefined) return findId(connection, type, text, toName);
  try {
    return await findId(everywhere, type, text, toName);
  } catch (error) {
    const isRefused = error instanceof CommandError && [401, 403].includes(error.status ?? 0);
    if (!isRefused) throw error;
    return findId(connection, type, text, toName);
  }
}

function dashed(name: string): string {
  return name.replaceAll('_', '-');
}
