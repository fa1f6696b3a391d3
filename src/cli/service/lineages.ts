import { normaliseUuid } from '../../domain/model/field.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { LIFECYCLE, type ShownLifecycle } from '../../domain/rotation/shown.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { shellCommand } from '../../domain/text/shell-word.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { callFor, type Connection } from './client.ts';
import { findId, listItems, withHints, withoutSecrets } from './resource-requests.ts';

export type LineageKey = ShownLifecycle['keys'][number];

/** A lineage, and the key in it that the user named. */
export interface NamedLineage extends ShownLifecycle {
  /** Undefined if the name is only the handle. */
  readonly named: LineageKey | undefined;
}

/** Returns the path of a key. */
export function keyPath(id: string): string {
  return `/v2/${tsigkey.collection}/${id}`;
}

/**
 * Returns the lineage of the key with this id or name, living or retired. Throws `CommandError` if
 * there is none.
 */
export function findLineage(connection: Connection, idOrName: string): Promise<NamedLineage> {
  return withHints(tsigkey, async () => {
    const id = normaliseUuid(idOrName) ?? (await idInLineage(connection, idOrName));
    const shown = await callFor(LIFECYCLE, connection, 'GET', `${keyPath(id)}/lifecycle`);
    const name = comparisonForm(idOrName);
    const named = shown.keys.find((key) => key.id === id && isNamed(key, idOrName));
    return {
      ...shown,
      named: named ?? shown.keys.find((key) => comparisonForm(key.name) === name),
    };
  });
}

function isNamed({ id, name }: LineageKey, idOrName: string): boolean {
  return normaliseUuid(idOrName) === id || comparisonForm(name) === comparisonForm(idOrName);
}

/** Returns the id of a living key in the lineage of a name. */
async function idInLineage(connection: Connection, name: string): Promise<string> {
  const quiet = withoutSecrets(connection);
  const [found] = await listItems(quiet, tsigkey, [['lineage', name]], 1);
  return found === undefined ? findId(connection, tsigkey, name) : String(found.id);
}

/** Runs a request about the rotation of a key. Adds where to look if the service refuses it. */
export function withRotationHints<T>(name: string, work: () => Promise<T>): Promise<T> {
  return withHints(tsigkey, async () => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof CommandError) || error.status !== 409) throw error;
      const { exitCode, message, hint, status } = error;
      const look = `To see its rotations, run: ${shellCommand('tsigil tsigkey lifecycle', name)}`;
      throw new CommandError(exitCode, message, hint ?? look, error, status);
    }
  });
}

/** Returns lines about who uses the keys of a lineage, and when they should be replaced. */
export function factsOf({ owner, purpose, consumers, keys }: ShownLifecycle): string[] {
  const names = consumers.map(
    ({ name, address }) => `${name}${address === null ? '' : ` (${address})`}`,
  );
  return [
    ...(owner === null ? [] : [`Owner: ${owner}`]),
    ...(purpose === null ? [] : [`Purpose: ${purpose}`]),
    ...(names.length === 0 ? [] : [`Consumers: ${names.join(', ')}`]),
    ...keys.flatMap(({ name, state, expires_at: expiry }) =>
      expiry === null || state !== 'active' ? [] : [`${name}: replace it until ${expiry}`],
    ),
  ];
}

/** Returns the key of a lineage to use now. */
export function currentKey({ keys }: ShownLifecycle): LineageKey {
  const current = keys.find(({ state }) => state === 'active' || state === 'spreading');
  if (current !== undefined) return current;
  throw new CommandError(EXIT.refused, 'The token may not see the key to use now');
}

/** Returns the successor of a key, if the token may see it. */
export function successorOf(
  { keys }: ShownLifecycle,
  { successor_id: id }: LineageKey,
): LineageKey | undefined {
  return keys.find((key) => key.id === id);
}

/**
 * Returns the key that is being replaced: the named one, or the only one of the lineage if `isExact`
 * is false. Throws `CommandError` if there is none, or several. `step` is the command.
 */
export function replacedKey(
  { handle, named, keys }: NamedLineage,
  step: string,
  isExact: boolean,
): LineageKey {
  const replaced = keys.filter(({ state }) => state !== 'active' && state !== 'retired');
  if (named !== undefined && replaced.includes(named)) return named;
  const [only, ...others] = replaced;
  const name = named?.name ?? handle;
  if (only === undefined && named?.state === 'retired')
    throw new CommandError(
      EXIT.refused,
      `The key '${name}' is retired already`,
      `To make it valid again, run: ${shellCommand('tsigil tsigkey restore', name)}`,
    );
  if (only === undefined)
    throw new CommandError(
      EXIT.refused,
      `The key '${name}' is not being replaced`,
      `To replace it, run: ${shellCommand('tsigil tsigkey rotate', name)}`,
    );
  const names = replaced.map((key) => key.name).join(', ');
  if (others.length > 0)
    throw new CommandError(
      EXIT.usage,
      `Several keys are being replaced: ${names}. Name one of them.`,
    );
  if (isExact)
    throw new CommandError(
      EXIT.refused,
      `The key '${name}' is ${STATES[named?.state ?? ''] ?? 'not being replaced'}`,
      `Another key of its lineage is being replaced. If you mean that one, run: ${shellCommand(step, only.name)}`,
    );
  return only;
}

const STATES: Readonly<Record<string, string>> = {
  '': 'gone, and only the handle of other keys',
  retired: 'retired already',
};

/** Returns the named key if it is retired, or the only retired key. Throws `CommandError`. */
export function retiredKeyOf({ handle, named, keys }: NamedLineage): LineageKey {
  const retired = keys.filter(({ state }) => state === 'retired');
  if (named !== undefined && retired.includes(named)) return named;
  const [only, ...others] = retired;
  const isOther = named !== undefined && named.name !== handle;
  if (only === undefined || isOther)
    throw new CommandError(EXIT.refused, `The key '${named?.name ?? handle}' is not retired`);
  if (others.length === 0) return only;
  const names = retired.map(({ name }) => name).join(', ');
  throw new CommandError(EXIT.usage, `Several keys are retired: ${names}. Name one of them.`);
}
