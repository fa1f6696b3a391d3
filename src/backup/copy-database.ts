import { ServiceError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { describeFault } from '../net/faults.ts';
import { lastBatchOf } from '../audit/store/head.ts';
import { assertOnlyResourcesOf, copyResources } from './copy.ts';
import { readMark, REMOVE_MARK, WRITE_MARK } from '../sql/marks.ts';
import { shownDatabase } from '../sql/databases.ts';
import { copyDelivery } from '../delivery/store/copy-delivery.ts';
import type { LogStore } from '../delivery/store/log-store.ts';
import { openDatabase, type OpenedDatabase } from '../database/open-database.ts';
import {
  openKeyring,
  openSourceKeyring,
  type DatabaseAccess,
} from '../secrets/store/open-keyring.ts';
import { openSource, type Source } from '../database/source.ts';
import { assertUnused } from '../sql/other-users.ts';

export interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly fromMasterKeyFile: string | undefined;
  /** Whether to copy a source that was copied already. */
  readonly again: boolean;
  readonly logs?: LogStore;
}

/**
 * Copies all data from one database to another, compares them, and returns the text to print. Until
 * then, the target is marked as unfinished; afterwards, the source is marked as copied. `warn`
 * receives further lines. Throws `bad_request` or `unavailable` if a database cannot be used.
 */
export async function copyDatabase(
  config: DatabaseAccess,
  { from, to, fromMasterKeyFile, again, logs }: CopyOptions,
  clock: Clock,
  warn: (text: string) => void,
): Promise<string> {
  const source = await openSource(
    from,
    config.databasePool,
    openSourceKeyring(from, config, fromMasterKeyFile),
  );
  try {
    await assertUnused(source);
    await assertCopyable(source, from);
    const secrets = openKeyring(to, config.encryption);
    const target = await openDatabase(to, config.databasePool, clock, { secrets });
    try {
      if (target.report.createdMasterKey !== undefined)
        warn(`Created the master key of the target in '${secrets.file}'`);
      if (secrets.keyring.masterKeys.length === 0)
        warn(
          'Warning: the target stores secrets in clear text, because no master key is configured. Set encryption.masterKeyFile.',
        );
      else if (!source.hasDataKeys)
        warn(
          'Warning: the source is not encrypted, so nothing proves that its service stored its tokens. Check them in the target: tsigil token list',
        );
      await assertUnused(target.database);
      if (!again) await assertNotCopied(source, target, from, to);
      await assertOnlyResourcesOf(source.reader, target.store);
      const mark = (other: string) => [shownDatabase(other), clock()] as const;
      await target.database.write((sql) => sql.run(WRITE_MARK, ['target', ...mark(from)]));
      const counts = await copyResources(source.reader, target.store);
      counts.set('deliveries', await copyDelivery(source.reads, target.database, logs));
      await target.record({
        action: 'database:copy',
        detail: {
          copied: Object.fromEntries(counts),
          trail: (await lastBatchOf(source.reads)) ?? null,
        },
      });
      await markSource(source, ['source', ...mark(to)], warn);
      await target.database.write(async (sql) => {
        for (const role of ['source', 'target']) await sql.run(REMOVE_MARK, [role]);
      });
      return [...counts]
        .map(([collection, count]) => `${collection}: ${count} copied and compared\n`)
        .join('');
    } finally {
      await target.store.close();
    }
  } finally {
    await source.close();
  }
}

/** Throws `bad_request` for a source that is an unfinished copy itself. */
async function assertCopyable({ reads }: Source, from: string): Promise<void> {
  const unfinished = await readMark(reads, 'target');
  if (unfinished !== undefined)
    throw new ServiceError(
      'bad_request',
      `The source '${shownDatabase(from)}' is an unfinished copy of '${unfinished.other}'. Copy that database`,
    );
}

/** Throws `bad_request` for a source that was copied, unless this copy was interrupted at its end. */
async function assertNotCopied(
  source: Source,
  target: OpenedDatabase,
  from: string,
  to: string,
): Promise<void> {
  const copied = await readMark(source.reads, 'source');
  if (copied === undefined) return;
  const isUnfinished = (await readMark(target.reads, 'target')) !== undefined;
  if (isUnfinished && copied.other === shownDatabase(to)) return;
  throw new ServiceError(
    'bad_request',
    `The source '${shownDatabase(from)}' was copied to '${copied.other}' at ${copied.at}, and lacks the changes made there since. To copy it again, and to overwrite resources of the target that differ, add --again. Nothing was copied`,
  );
}

/** Marks the source as copied. Throws `unavailable` if a service has started on it meanwhile. */
async function markSource(
  source: Source,
  mark: readonly [role: string, other: string, at: string],
  warn: (text: string) => void,
): Promise<void> {
  try {
    await source.change(WRITE_MARK, mark);
  } catch (error) {
    const reason = error instanceof ServiceError ? error.message : describeFault(error);
    warn(
      `Warning: the source is not marked as copied, so a service can start on it: ${reason}. Never serve both databases.`,
    );
    return;
  }
  try {
    await assertUnused(source);
  } catch (error) {
    await source.change(REMOVE_MARK, ['source']);
    throw error;
  }
}
