import { MAX_ENTRIES, MAX_LIST_BYTES, type BulkRequest } from '../../domain/operations/bulk-request.ts';
import { call, type Connection } from '../service/client.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { quote, type Report } from '../output/import-report.ts';
import type { ListEntry } from '../tld-lists/list.ts';

/** How the service is to apply a list. */
export type BulkFlags = Pick<BulkRequest, 'mode' | 'dryRun'> & { readonly replace?: boolean };

/** What the service did with a list, or would do. */
interface BulkResponse {
  readonly results: readonly {
    readonly index: number;
    readonly outcome: 'added' | 'unchanged' | 'updated' | 'refused';
    readonly name?: string;
    readonly previous?: { readonly description?: string | null };
    readonly message?: string;
  }[];
  readonly removed: readonly { readonly name: string }[];
}

/** So many entries go at a time where they need not go together: few enough for progress, and for Ctrl-C to be heard soon. */
const BATCH_ENTRIES = 1000;
const BATCH_BYTES = MAX_LIST_BYTES / 2;

/** Makes the service apply entries, and adds to `report` what became of each. Throws `CommandError`. */
export async function sendEntries(connection: Connection, entries: readonly ListEntry[], flags: BulkFlags, report: Report): Promise<void> {
  const { mode, dryRun, replace = false } = flags;
  const response = await call(connection, 'POST', '/v2/tlds/bulk', { mode, replace, dry_run: dryRun, tlds: entries.map(bodyOf) });
  const { results, removed } = response as unknown as BulkResponse;
  for (const { index, outcome, name = '', previous, message = '' } of results) {
    const entry = entries[index];
    if (entry === undefined) continue;
    if (outcome === 'refused') report.add(outcome, `${quote(entry.name)}: ${message}`, entry.line);
    else if (outcome === 'updated') report.add(outcome, `${name}: ${quote(previous?.description)} -> ${quote(entry.description)}`);
    else report.add(outcome, name);
  }
  for (const { name } of removed) report.add('removed', name);
}

/** Entries in parts that the service takes, one request for each. */
export function* batchesOf(entries: readonly ListEntry[]): Generator<ListEntry[]> {
  let batch: ListEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = sizeOf(entry);
    if (batch.length === BATCH_ENTRIES || (batch.length > 0 && bytes + size > BATCH_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(entry);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Throws `CommandError` if entries are too many to go in one request. */
export function checkSize(entries: readonly ListEntry[]): void {
  const bytes = entries.reduce((sum, entry) => sum + sizeOf(entry), 1000);
  if (entries.length <= MAX_ENTRIES && bytes <= MAX_LIST_BYTES) return;
  throw new CommandError(
    EXIT.refused,
    `The list is too long to be applied as a whole: ${entries.length} entries in ${bytes} bytes, where ${MAX_ENTRIES} in ${MAX_LIST_BYTES} are possible`,
    'Without --replace and --all-or-nothing there is no limit.',
  );
}

function bodyOf({ name, description }: ListEntry): object {
  return { name, ...(description === undefined ? {} : { description }) };
}

function sizeOf(entry: ListEntry): number {
  return Buffer.byteLength(JSON.stringify(bodyOf(entry))) + 1;
}
