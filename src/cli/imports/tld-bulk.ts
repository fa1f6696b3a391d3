import {
  BULK_RESPONSE,
  MAX_ENTRIES,
  MAX_LIST_BYTES,
  type BulkResponse,
} from '../../domain/actions/bulk-request.ts';
import { callFor, type Connection } from '../service/client.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { quote, type Report } from '../output/import-report.ts';
import { refusedEntries, type ListEntry } from '../../domain/tld-lists/list.ts';
import { jsonBytes } from './request-size.ts';

export interface BulkFlags {
  readonly dryRun: boolean;
  readonly replace?: boolean;
  /** Whether nothing changes if an entry is refused. */
  readonly allOrNothing?: boolean;
}

/**
 * The maximum size of a request, unless one request must contain all entries. The size is small
 * enough to show progress and to stop soon after Ctrl-C.
 */
const BATCH = { items: 1000, bytes: MAX_LIST_BYTES / 2 };

/**
 * Sends entries to the service in one request, and adds each outcome to `report`. The service
 * refuses a list with an invalid entry, so the request is repeated without the refused entries; with
 * `allOrNothing` as a dry run, which finds refused entries that did not fit in the first error.
 * Throws `CommandError`.
 */
export async function sendEntries(
  connection: Connection,
  entries: readonly ListEntry[],
  flags: BulkFlags,
  report: Report,
): Promise<void> {
  let { dryRun, replace = false } = flags;
  let rest = entries;
  while (rest.length > 0) {
    try {
      const body = { replace, dry_run: dryRun, tlds: rest.map(bodyOf) };
      const path = '/v2/tlds/bulk';
      const result = await callFor(BULK_RESPONSE.kind, connection, 'POST', path, body);
      addOutcomes(rest, result, report);
      return;
    } catch (error) {
      const refused = refusedEntries(rest, error instanceof CommandError ? error.problems : []);
      if (refused.size === 0) throw error;
      for (const [{ name, line }, messages] of refused)
        report.add('refused', `${quote(name)}: ${messages.join('; ')}`, line);
      rest = rest.filter((entry) => !refused.has(entry));
      if (flags.allOrNothing === true) [dryRun, replace] = [true, false];
    }
  }
}

function addOutcomes(
  entries: readonly ListEntry[],
  { results, removed }: BulkResponse,
  report: Report,
): void {
  for (const { index, outcome, name, previous } of results) {
    const change = `${quote(previous?.description)} -> ${quote(entries[index]?.description)}`;
    report.add(outcome, outcome === 'updated' ? `${name}: ${change}` : name);
  }
  for (const { name } of removed) report.add('removed', name);
}

/** Divides entries into batches for one request each. */
export function* entryBatches(entries: readonly ListEntry[]): Generator<ListEntry[]> {
  let batch: ListEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = jsonBytes(bodyOf(entry));
    if (batch.length === BATCH.items || (batch.length > 0 && bytes + size > BATCH.bytes)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(entry);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Throws `CommandError` if the entries do not fit in one request. */
export function assertOneRequest(entries: readonly ListEntry[]): void {
  const bytes = entries.reduce((sum, entry) => sum + jsonBytes(bodyOf(entry)), 1000);
  if (entries.length <= MAX_ENTRIES && bytes <= MAX_LIST_BYTES) return;
  throw new CommandError(
    EXIT.refused,
    `The list is too large for one request: ${entries.length} entries, ${bytes} bytes. The limit is ${MAX_ENTRIES} entries, ${MAX_LIST_BYTES} bytes.`,
    'Import the list without --replace and --all-or-nothing.',
  );
}

function bodyOf({ name, description }: ListEntry): object {
  return { name, description };
}
