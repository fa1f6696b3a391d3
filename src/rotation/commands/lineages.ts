import { normaliseUuid } from '../../core/field.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { LIFECYCLE, type ShownLifecycle } from '../lifecycle-response.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { shellCommand } from '../../core/text/shell-word.ts';
import { CommandError, EXIT, withHint } from '../../cli/output/command-error.ts';
import { callFor, type Connection } from '../../cli/service/client.ts';
import {
  findId,
  listItems,
  withHints,
  withoutSecrets,
} from '../../cli/service/resource-requests.ts';

export type LineageKey = ShownLifecycle['keys'][number];

interface NamedLineage extends ShownLifecycle {
  /** Undefined if the name is only the handle. */
  readonly named: LineageKey | undefined;
}

export function keyPath(id: string): string {
  return `/v2/${tsigkey.collection}/${id}`;
}

/** The key may be living or retired. Throws `CommandError` if there is none. */
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
 * Returns the named key, unless it is retired and `isLiving` is set. Throws `CommandError` otherwise,
 * because a command that is repeated must not reach the next key of its lineage.
 */
export function namedKey({ handle, named }: NamedLineage, isLiving: boolean): LineageKey {
  if (named !== undefined && !(isLiving && named.state === 'retired')) return named;
  const [state, hint, verb] =
    named === undefined
      ? ['gone, and only the handle of other keys', 'To see them', 'lifecycle']
      : ['retired already', 'To make it valid again', 'restore'];
  const name = named?.name ?? handle;
  throw new CommandError(
    EXIT.refused,
    `The key '${name}' is ${state}`,
    `${hint}, run: ${shellCommand(`tsigil tsigkey ${verb}`, name)}`,
  );
}
