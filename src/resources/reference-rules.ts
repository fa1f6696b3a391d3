import { ServiceError } from '../core/errors.ts';
import type { Reader, ReferencingServer } from '../core/ports.ts';
import type { Admission, Change } from '../core/resource.ts';
import { nameServer, type NameServer } from './name-server.ts';
import { tsigkey, type Target, type Tsigkey } from './tsigkey.ts';
import type { Zone } from './zone-fields.ts';
import { zone } from './zone.ts';
import { comparisonForm } from '../core/text/dns-name.ts';

/**
 * The rules about keys that the configuration of a name server names outside Tsigil's part, as the
 * last pass found them. An unreadable configuration forbids nothing.
 */

interface Line {
  readonly nameServer: string;
  readonly place: string;
}

/**
 * Checks that a change does not take a key from a name server whose configuration names it: its
 * deletion, another name, or another pool. Throws `key_is_referenced`.
 */
export async function assertKeyUnreferenced(
  change: Change<(typeof tsigkey)['fields']>,
  transaction: Reader,
  admission: Viewer,
): Promise<void> {
  if (change.operation === 'create') return;
  const isDeletion = change.operation === 'delete';
  const key: Tsigkey = isDeletion ? change.resource : change.current;
  const { name, scope, resource_id: id } = change.resource;
  const isRenamed = name !== key.name && comparisonForm(name) !== comparisonForm(key.name);
  const refersElsewhere = scope !== key.scope || id !== key.resource_id;
  if (!isDeletion && !isRenamed && !refersElsewhere) return;
  const pool = await poolOf(key, transaction);
  if (!isDeletion && !isRenamed && pool === (await poolOf(change.resource, transaction))) return;
  const line = (await linesIn(pool, transaction)).get(comparisonForm(key.name));
  const changed = isRenamed ? 'renamed' : 'moved';
  const verb = isDeletion ? 'deleted' : changed;
  if (line !== undefined)
    throw new ServiceError('key_is_referenced', {
      what: `The key '${key.name}' cannot be ${verb}`,
      named: 'it',
      line: await visible(line, admission),
    });
}

type Viewer = Pick<Admission, 'visibleNames' | 'caller'>;

/** Returns a line only for a caller that may see what the name server names. */
async function visible(line: Line, { caller, visibleNames }: Viewer): Promise<Line | undefined> {
  if (caller.limits !== undefined) return undefined;
  const [server] = await visibleNames(nameServer, [
    { field: 'name', test: '=', value: line.nameServer },
  ]);
  return server === undefined ? undefined : line;
}

/**
 * Checks that the deletion of a zone does not take a key of the zone from a name server whose
 * configuration names it. Throws `key_is_referenced`, which names the key and the line only to
 * callers that may see both.
 */
export async function assertZoneUnreferenced(
  { id, name, pool_id: pool }: Pick<Zone, 'id' | 'name' | 'pool_id'>,
  transaction: Reader,
  admission: Viewer,
): Promise<void> {
  const lines = await linesIn(pool ?? undefined, transaction);
  if (lines.size === 0) return;
  for (const key of await transaction.find(tsigkey, 'name', [...lines.keys()])) {
    if (key.scope !== 'ZONE' || key.resource_id !== id) continue;
    const found = lines.get(comparisonForm(key.name));
    const line = found && (await visible(found, admission));
    const [shown] = await admission.visibleNames(tsigkey, [
      { field: 'id', test: '=', value: key.id },
    ]);
    const isVisible = shown !== undefined && line !== undefined;
    throw new ServiceError('key_is_referenced', {
      what: `The zone '${name}' cannot be deleted`,
      ...(isVisible ? { named: `its key '${shown}'`, line } : { named: 'one of its keys' }),
    });
  }
}

/** Throws `key_is_referenced` for another pool if the configuration of the server names keys. */
export function assertServerUnreferenced(
  server: NameServer,
  { pool_id: next }: Pick<NameServer, 'pool_id'>,
): void {
  const { name, pool_id: pool } = server;
  const [first] = ownReferences(server);
  if (pool === next || first === undefined) return;
  throw new ServiceError('key_is_referenced', {
    what: `The name server '${name}' cannot move to another pool`,
    named: `the key '${first.key}'`,
    line: { nameServer: name, place: first.place },
  });
}

/** Returns the pool whose name servers have a key. */
export async function poolOf({ scope, resource_id: id }: Target, transaction: Reader) {
  return scope === 'POOL' ? id : ((await transaction.get(zone, id))?.pool_id ?? undefined);
}

/** Returns the first line for each key that the configurations of a pool's name servers name. */
async function linesIn(pool: string | undefined, transaction: Reader) {
  const lines = new Map<string, Line>();
  if (pool === undefined) return lines;
  for (const server of await transaction.referencingServers(pool))
    for (const { key, place } of ownReferences(server))
      if (!lines.has(key)) lines.set(key, { nameServer: server.name, place });
  return lines;
}

/** Returns the lines that name keys of Tsigil. */
export function ownReferences({
  key_references: references,
  unknown_keys: unknown,
}: ReferencingServer) {
  const others = new Set(unknown);
  return (references ?? []).filter(({ key }) => !others.has(key));
}

/** Throws `key_is_referenced` if a zone names a key of another program that is to be removed. */
export function assertUnknownKeyUnreferenced(
  { name, key_references: references }: NameServer,
  key: string,
): void {
  const found = references?.find((each) => each.key === key);
  if (found === undefined) return;
  throw new ServiceError('key_is_referenced', {
    what: `The key '${key}' cannot be removed`,
    named: 'it',
    line: { nameServer: name, place: found.place },
  });
}
