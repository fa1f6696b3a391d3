import { normaliseUuid } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';
import { call, type Connection } from './client.ts';
import { CommandError, EXIT } from '../output/errors.ts';

/** One resource, as the service shows it. */
export type Item = Readonly<Record<string, unknown>>;

type Parameters = readonly (readonly [name: string, value: string])[];

/** The first `limit` resources that the parameters of a list ask for, page by page. */
export async function listItems(connection: Connection, type: ResourceType, parameters: Parameters, limit = Infinity): Promise<Item[]> {
  const path = `/v2/${type.collection}`;
  const paging: Parameters = limit < MAX_LIMIT ? [['limit', String(limit)]] : [];
  const query = new URLSearchParams([...parameters, ...paging].map(([name, value]): [string, string] => [name, value])).toString();
  const items: Item[] = [];
  let next: string | undefined = query === '' ? path : `${path}?${query}`;
  while (next !== undefined && items.length < limit) {
    const page = await call(connection, 'GET', next);
    items.push(...((page[type.collection] ?? []) as Item[]));
    const link: string | undefined = (page.links as { next?: string } | undefined)?.next;
    next = link === undefined ? undefined : path + new URL(link).search;
  }
  return items.slice(0, limit);
}

/** The path of the resource with this id or, where it does not look like an id, this name. Throws `CommandError` unless there is exactly one. */
export async function findPath(connection: Connection, type: ResourceType, idOrName: string, toName: (name: string) => string): Promise<string> {
  const id = normaliseUuid(idOrName) ?? (await findByName(connection, type, toName(idOrName)));
  return `/v2/${type.collection}/${id}`;
}

async function findByName(connection: Connection, type: ResourceType, name: string): Promise<string> {
  const { field, comparisonForm } = type.unique;
  const found = await listItems(connection, type, [[field, name]]);
  // A name with an asterisk in it is a pattern to the service.
  const equal = found.filter((item) => comparisonForm(String(item[field])) === comparisonForm(name));
  const [only, ...others] = equal;
  if (only === undefined) throw new CommandError(EXIT.refused, `There is no ${type.noun} named '${name}'`, seeList(type));
  if (others.length === 0) return String(only.id);
  const ids = equal.map((item) => String(item.id)).join(', ');
  throw new CommandError(EXIT.refused, `There are ${equal.length} of the name '${name}': ${ids}`, 'Give the id of the one that is meant.');
}

function seeList(type: ResourceType): string {
  return `See 'tsigil ${type.noun} list'.`;
}

/** Runs requests about one resource, and adds to refusals what the command line can do about them. */
export async function withHints<T>(type: ResourceType, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CommandError) || error.hint !== undefined) throw error;
    const hint = { 404: seeList(type), 409: `Another one has that ${type.unique.field}: see 'tsigil ${type.noun} list'.` }[error.status ?? 0];
    throw hint === undefined ? error : new CommandError(error.exitCode, error.message, hint, error, error.status);
  }
}
