import {
  BULK_RESPONSE,
  MAX_ENTRIES,
  MAX_LIST_BYTES,
  type BulkRequest,
} from '../../domain/actions/bulk-request.ts';
import { callFor, type Connection } from '../service/client.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { quote, type Report } from '../output/import-report.ts';
import type { ListEntry } from '../tld-lists/list.ts';
import { batchesOf, jsonBytes } from './batches.ts';

/** The options of a bulk request. */
export type BulkFlags = Pick<BulkRequest, 'mode'> & {
  readonly dryRun: boolean;
  readonly replace?: boolean;
};

/**
 * The maximum size of a request, unless one request must contain all entries. The size is small
 * enough to show progress and to stop soon after Ctrl-C.
 */
const BATCH = { items: 1000, bytes: MAX_LIST_BYTES / 2 };

/**
 * Sends entries to the service in one request, and adds each outcome to `report`. Throws
 * `CommandError`.
 */
export async function sendEntries(
  connection: Connection,
  entries: readonly ListEntry[],
  flags: BulkFlags,
  report: Report,
): Promise<void> {
  const { mode, dryRun, replace = false } = flags;
  const { results, removed } = await callFor(
    BULK_RESPONSE.kind,
    connection,
    'POST',
    '/v2/tlds/bulk',
    { mode, replace, dry_run: dryRun, tlds: entries.map(bodyOf) },
  );
  for (const { index, outcome, name = '', previous, message = '' } of results) {
    const entry = entries[index];
    if (entry === undefined) continue;
    if (outcome === 'refused') report.add(outcome, `${quote(entry.name)}: ${message}`, entry.line);
    else if (outcome === 'updated')
      report.add(
        outcome,
        `${name}: ${quote(previous?.description)} -> ${quote(entry.description)}`,
      );
    else report.add(outcome, name);
  }
  for (const { name } of removed) report.add('removed', name);
}

/** Divides entries into batches of at most 1,000. */
export function entryBatches(entries: readonly ListEntry[]): Generator<ListEntry[]> {
  return batchesOf(entries, BATCH, bodyOf);
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
  return { name, ...(description === undefined ? {} : { description }) };
}
