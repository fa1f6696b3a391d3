import { comparisonForm } from '../../domain/text/dns-name.ts';
import { isSameKey, type Key } from '../../domain/key-formats/key.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { call, type Connection } from '../service/client.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import type { Report } from '../output/import-report.ts';
import { keyOf } from '../service/key-requests.ts';
import { listItems, type Item } from '../service/resource-requests.ts';

/** A key from a file or server with its place, or the problem with the key. */
export interface FoundKey {
  readonly place: string;
  readonly found: { readonly key: Key } | { readonly problem: string };
}

/** The options of an import of keys. */
export interface KeyImport {
  /** The scope of new keys. */
  readonly scope: string;
  readonly resourceId: string;
  /** True to replace the algorithm and secret of existing keys. */
  readonly update: boolean;
  /** True to report the changes without making them. */
  readonly dryRun: boolean;
}

/**
 * Imports keys into the service, one after another, and reports each outcome, until `signal` is
 * aborted. Returns the number of keys that it processed. Throws `CommandError` if the service
 * cannot be reached.
 */
export async function importKeys(
  connection: Connection,
  keys: readonly FoundKey[],
  wanted: KeyImport,
  report: Report,
  signal: AbortSignal,
): Promise<number> {
  const existing = new Map(
    (await listItems(connection, tsigkey, [])).map((item) => [
      comparisonForm(String(item.name)),
      item,
    ]),
  );
  const seen = new Map<string, string>();
  for (const [index, { place, found }] of keys.entries()) {
    if (signal.aborted) return index;
    if ('problem' in found) {
      report.add('invalid', found.problem, place);
      continue;
    }
    const { key } = found;
    const name = comparisonForm(key.name);
    const earlier = seen.get(name);
    if (earlier === undefined) {
      seen.set(name, place);
      await importKey(connection, place, key, existing.get(name), wanted, report);
    } else report.add('invalid', `${key.name} is a duplicate of the key at ${earlier}`, place);
  }
  return keys.length;
}

async function importKey(
  connection: Connection,
  place: string,
  key: Key,
  current: Item | undefined,
  wanted: KeyImport,
  report: Report,
) {
  if (current !== undefined && isSameKey(keyOf(current), key))
    report.add('unchanged', key.name, place);
  else if (current !== undefined && !wanted.update)
    report.add('different', describeDifference(current, key), place);
  else {
    const named = {
      ...connection,
      warn: (message: string) => connection.warn?.(`${key.name}: ${message}`),
    };
    const refusal = wanted.dryRun ? undefined : await save(named, key, current, wanted);
    if (refusal === undefined)
      report.add(current === undefined ? 'added' : 'updated', key.name, place);
    else report.add('refused', `${key.name}: ${refusal}`, place);
  }
}

function describeDifference(current: Item, key: Key): string {
  const members = (['algorithm', 'secret'] as const).filter(
    (member) => current[member] !== key[member],
  );
  return `${key.name} already exists with a different ${members.join(' and ')}; use --update to replace it`;
}

/** Creates or changes a key. If the service refuses the request, returns the reason. */
async function save(
  connection: Connection,
  key: Key,
  current: Item | undefined,
  { scope, resourceId }: KeyImport,
): Promise<string | undefined> {
  const { algorithm, secret } = key;
  try {
    if (current === undefined)
      await call(connection, 'POST', '/v2/tsigkeys', { ...key, scope, resource_id: resourceId });
    else
      await call(connection, 'PATCH', `/v2/tsigkeys/${String(current.id)}`, { algorithm, secret });
    return undefined;
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === EXIT.refused) return error.message;
    throw error;
  }
}
