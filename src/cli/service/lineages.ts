import { normaliseUuid } from '../../domain/model/field.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { LIFECYCLE, type ShownLifecycle } from '../../domain/rotation/shown.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { shellCommand } from '../../domain/text/shell-word.ts';
import { CommandError, EXIT, withHint } from '../output/command-error.ts';
import { callFor, type Connection } from './client.ts';
import { findId, listItems, withHints, withoutSecrets } from './resource-requests.ts';

export type LineageKey = ShownLifecycle['keys'][number];

/** A lineage, and the key in it that the user named. */
export interface NamedLineage extends ShownLifecycle {
  /** Undefined if the name is only the handle. */
  readonly named: LineageKey | undefined;
}

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
    const isNamed = (key: LineageKey) =>
      key.id === normaliseUuid(idOrName) || comparisonForm(key.name) === name;
    const first = shown.keys.find((key) => key.id === id && isNamed(key));
    return { ...shown, named: first ?? shown.keys.find(isNamed) };
  });
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
      const look = shellCommand('tsigil tsigkey lifecycle', name);
      throw withHint(error, `To see its rotations, run: ${look}`);
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

export function currentKey({ keys }: ShownLifecycle): LineageKey {
  const current = keys.find(({ state }) => state === 'active' || state === 'spreading');
  if (current !== undefined) return current;
  throw new CommandError(EXIT.refused, 'The token may not see the key to use now');
}

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
  const [only] = replaced;
  const name = named?.name ?? handle;
  const refuse = (state: string, hint: string, command: string) => {
    throw new CommandError(
      EXIT.refused,
      `The key '${name}' is ${state}`,
      `${hint}, run: ${command}`,
    );
  };
  if (only === undefined)
    return named?.state === 'retired'
      ? refuse(
          'retired already',
          'To make it valid again',
          shellCommand('tsigil tsigkey restore', name),
        )
      : refuse('not being replaced', 'To replace it', shellCommand('tsigil tsigkey rotate', name));
  if (replaced.length > 1) throw severalKeys(replaced, 'being replaced');
  if (!isExact) return only;
  return refuse(
    STATES[named?.state ?? ''] ?? 'not being replaced',
    'Another key of its lineage is being replaced. If you mean that one',
    shellCommand(step, only.name),
  );
}

const STATES: Readonly<Record<string, string>> = {
  '': 'gone, and only the handle of other keys',
  retired: 'retired already',
};

/** Returns the named key if it is retired, or the only retired key. Throws `CommandError`. */
export function retiredKeyOf({ handle, named, keys }: NamedLineage): LineageKey {
  const retired = keys.filter(({ state }) => state === 'retired');
  if (named !== undefined && retired.includes(named)) return named;
  const [only] = retired;
  if (only === undefined || (named !== undefined && named.name !== handle))
    throw new CommandError(EXIT.refused, `The key '${named?.name ?? handle}' is not retired`);
  if (retired.length > 1) throw severalKeys(retired, 'retired');
  return only;
}

function severalKeys(keys: readonly LineageKey[], state: string): CommandError {
  const names = keys.map(({ name }) => name).join(', ');
  return new CommandError(EXIT.usage, `Several keys are ${state}: ${names}. Name one of them.`);
}
