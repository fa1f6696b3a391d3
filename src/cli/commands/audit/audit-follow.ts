import { setTimeout as pause } from 'node:timers/promises';
import type { AuditRecord } from '../../../domain/audit/record.ts';
import { isBefore, START, type Position } from '../../../domain/audit/trail.ts';
import { MAX_LIMIT } from '../../../domain/model/settings.ts';
import { formatPosition, POSITION } from '../../../domain/operations/audit-list.ts';
import { CommandError, EXIT } from '../../output/command-error.ts';
import { catchInterrupt, type Terminal } from '../../output/terminal.ts';
import type { Connection } from '../../service/client.ts';
import { getLastBatch, getRecords, type Parameters } from './audit-requests.ts';

/** The time between two requests for new batches. The service seals at most one batch a second. */
const INTERVAL_MS = 1000;

/**
 * Prints new records until Ctrl-C. With `--after`, prints older records first. Waits while the
 * service restarts.
 */
export async function followRecords(
  connection: Connection,
  wanted: Parameters,
  print: (record: AuditRecord) => void,
  terminal: Terminal,
): Promise<void> {
  const { signal, release } = catchInterrupt(terminal);
  const isStopped = () => signal.aborted;
  const end = await endOfTrail(connection);
  let from = wanted.some(([name]) => name === 'after') ? START : end;
  let isWaiting = false;
  try {
    while (!isStopped()) {
      try {
        const last = await endOfTrail(connection);
        while (isBefore(from, last) && !isStopped()) {
          const { records, next } = await getRecords(connection, [
            ...wanted,
            ['sort_dir', 'asc'],
            ['limit', String(MAX_LIMIT)],
            ['marker', formatPosition(from)],
          ]);
          for (const record of records) print(record);
          // The last page contains all remaining records up to `last`, and may contain later
          // records.
          from = next === undefined ? latest(last, records.at(-1)) : positionOf(next);
        }
        isWaiting = false;
      } catch (error) {
        if (!isTemporary(error)) throw error;
        if (!isWaiting) terminal.err.write(`${error.message}. Waiting for the service.\n`);
        isWaiting = true;
      }
      await pause(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    release();
  }
}

function latest(end: Position, record: AuditRecord | undefined): Position {
  if (record?.batch == null) return end;
  const position = { batch: record.batch, seq: record.seq };
  return isBefore(end, position) ? position : end;
}

function positionOf(marker: string): Position {
  const parsed = POSITION.parse(marker);
  if ('value' in parsed) return parsed.value;
  throw new CommandError(
    EXIT.refused,
    `The service returned a link with the invalid marker '${marker}'`,
  );
}

async function endOfTrail(connection: Connection): Promise<Position> {
  const batch = await getLastBatch(connection);
  return batch === undefined ? START : { batch: batch.number, seq: batch.last_seq };
}

/** Returns whether a request may succeed later, because the service restarts or is busy. */
function isTemporary(error: unknown): error is CommandError {
  if (!(error instanceof CommandError)) return false;
  const { status } = error;
  return status === undefined
    ? error.exitCode === EXIT.unreachable
    : status === 429 || status >= 500;
}
