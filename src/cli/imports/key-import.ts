import { comparisonForm } from '../../domain/model/dns-name.ts';
import { isSameKey, type Key } from '../../domain/key-formats/key.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { call, type Connection } from '../service/client.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import type { Report } from '../output/import-report.ts';
import { keyOf } from '../service/key-requests.ts';
import { listItems, type Item } from '../service/resource-requests.ts';

/** A key that was found, or what is wrong with it, and where. */
export interface FoundKey {
  readonly place: string;
  readonly found: { readonly key: Key } | { readonly problem: string };
}

/** What to do with the keys that were found. */
export interface KeyImport {
  /** What new keys apply to. */
  readonly scope: string;
  readonly resourceId: string;
  /** Give keys that exist the algorithm and secret that were found. */
  readonly update: boolean;
  /** Change nothing, and tell what would be done. */
  readonly dryRun: boolean;
}

/**
 * Brings keys into the service, one after the other, and tells of each, until `signal` is aborted. Returns how many keys it
 * told of. Throws `CommandError` when the service cannot be asked.
 */
export async function importKeys(
  connection: Connection,
  keys: readonly FoundKey[],
  wanted: KeyImport,
  report: Report,
  signal: AbortSignal,
): Promise<number> {
  const existing = new Map((await listItems(connection, tsigkey, [])).map((item) => [comparisonForm(String(item.name)), item]));
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
    } else report.add('invalid', `${key.name} was there before, at ${earlier}`, place);
  }
  return keys.length;
}

async function importKey(connection: Connection, place: string, key: Key, current: Item | undefined, wanted: KeyImport, report: Report) {
  if (current !== undefined && isSameKey(keyOf(current), key)) report.add('unchanged', key.name, place);
  else if (current !== undefined && !wanted.update) report.add('different', describeDifference(current, key), place);
  else {
    const refusal = wanted.dryRun ? undefined : await save(connection, key, current, wanted);
    if (refusal === undefined) report.add(current === undefined ? 'added' : 'updated', key.name, place);
    else report.add('refused', `${key.name}: ${refusal}`, place);
  }
}

function describeDifference(current: Item, key: Key): string {
  const members = (['algorithm', 'secret'] as const).filter((member) => current[member] !== key[member]);
  return `${key.name} exists with another ${members.join(' and another ')}; --update replaces it`;
}

/** Creates or changes a key; returns why the service does not want it, if it does not. */
async function save(connection: Connection, key: Key, current: Item | undefined, { scope, resourceId }: KeyImport): Promise<string | undefined> {
  const { algorithm, secret } = key;
  try {
    if (current === undefined) await call(connection, 'POST', '/v2/tsigkeys', { ...key, scope, resource_id: resourceId });
    else await call(connection, 'PATCH', `/v2/tsigkeys/${String(current.id)}`, { algorithm, secret });
    return undefined;
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === EXIT.refused) return error.message;
    throw error;
  }
}
