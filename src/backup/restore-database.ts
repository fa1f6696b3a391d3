import { randomBytes, randomUUID } from 'node:crypto';
import type { ChainEnd } from '../audit/chain.ts';
import type { Keyring } from '../core/keyring.ts';
import { ServiceError } from '../core/errors.ts';
import { LENIENT } from '../core/settings.ts';
import { change, type Dependencies } from '../resources/operations/change.ts';
import { DEFAULT_POLICY } from '../resources/policy.ts';
import { parseDatabaseUrl, withoutPassword } from '../core/text/database-url.ts';
import { describeFault } from '../net/faults.ts';
import { lastBatchOf } from '../audit/store/head.ts';
import { localOrigin } from '../audit/store/record-command.ts';
import { parseDatabase } from '../sql/databases.ts';
import { NEWEST_SCHEMA, schemaOf, schemaProblem } from '../sql/migrate.ts';
import { openDatabase, type OpenedDatabase } from '../database/open-database.ts';
import { openKeyring, type DatabaseAccess } from '../secrets/store/open-keyring.ts';
import {
  changesSince,
  isEarlierState,
  isEmpty,
  NO_CHANGES,
  noteRestores,
  replacedEnds,
  withdraw,
  type ChangesSince,
  type RestoredOver,
} from './changes-since-backup.ts';
import { assertMasterKey } from '../secrets/store/start.ts';
import { assertUnused } from '../sql/other-users.ts';
import { WRITE_MARK } from '../sql/marks.ts';
import type { Snapshot } from '../sql/sql.ts';
import { createReader } from '../database/store.ts';
import { endSessions } from '../tokens/job/sessions.ts';

const HELD =
  "Name servers with newer keys keep them until you run 'tsigil delivery resume'; 'tsigil status' lists these name servers.\n";

interface RestoreDialogue {
  /** Prints lines, which may contain any character. */
  print(lines: readonly string[]): void;
  /** Asks for confirmation. Throws if the reply is not yes. */
  ask(question: string): Promise<void>;
  /** Whether tokens and keys that were deleted since the backup become valid again. */
  readonly revive: boolean;
}

type Shared = Pick<Dependencies, 'clock' | 'hooks'>;

/**
 * Replaces the configured SQLite database with the backup in `source`. For PostgreSQL, prepares the
 * database with the URL `source`, in which the operator has restored a dump, to replace the
 * configured one. In both cases, takes away what the configured database has taken away since the
 * backup, after `ask` confirms. Returns the text to print. Throws `bad_request` for a backup that
 * cannot be used, and `unavailable` if a service is running or the master key does not fit.
 */
export async function restoreDatabase(
  config: DatabaseAccess,
  source: string,
  dialogue: RestoreDialogue,
  shared: Shared,
): Promise<string> {
  const { kind, location } = parseDatabase(config.database);
  if (kind.shared) return prepareDump(config, source, dialogue, shared);
  const { stageRestore } = await import('../sql/sqlite/restore-file.ts');
  const staged = await stageRestore(source, location);
  try {
    const replaced = staged.exists ? staged.openReplaced : undefined;
    await settle(config, `sqlite:${staged.copy}`, source, replaced, dialogue, shared);
    const aside = staged.publish();
    return (
      `Restored '${source}' to '${staged.target}'. Start the service now.\n` +
      (aside === undefined ? '' : `The replaced database is in '${aside}'.\n`) +
      HELD
    );
  } finally {
    staged.close();
  }
}

async function prepareDump(
  config: DatabaseAccess,
  source: string,
  dialogue: RestoreDialogue,
  shared: Shared,
): Promise<string> {
  const { kind, location } = parseDatabase(config.database);
  const url = parseDatabaseUrl(source);
  if (url === undefined || !parseDatabase(source).kind.shared)
    throw new ServiceError(
      'bad_request',
      `'${withoutPassword(source)}' is not a PostgreSQL database. Restore the dump into a new database with pg_restore, then run: tsigil restore postgres://USER@HOST/NEW_DATABASE`,
    );
  if (source === config.database)
    throw new ServiceError(
      'bad_request',
      `'${withoutPassword(source)}' is the configured database itself. Restore the dump into another database`,
    );
  const openReplaced = () => kind.openSnapshot(location, config.databasePool);
  await assertStopped(openReplaced);
  await settle(config, source, withoutPassword(source), openReplaced, dialogue, shared);
  const name = withoutPassword(source);
  return `Prepared '${name}'. Rename it to the configured database, or set 'database' to it, and start the service.\n${HELD}`;
}

/** Throws `unavailable` if a service uses the database. Ignores a database that cannot be read. */
async function assertStopped(open: () => Promise<Snapshot>): Promise<void> {
  const snapshot = await open().catch(() => undefined);
  if (snapshot !== undefined) await assertUnused(snapshot).finally(() => snapshot.close());
}

/**
 * Checks the restored database `setting`, shows what changed since the backup, asks, and applies
 * it. `shown` is the backup in messages. `openReplaced` is undefined if no database is replaced.
 */
async function settle(
  config: DatabaseAccess,
  setting: string,
  shown: string,
  openReplaced: (() => Promise<Snapshot>) | undefined,
  { print, ask, revive }: RestoreDialogue,
  { clock, hooks }: Shared,
): Promise<void> {
  await assertUsable(config, setting, shown);
  const secrets = openKeyring(config.database, config.encryption);
  const { store, reads, record, database } = await openDatabase(
    setting,
    config.databasePool,
    clock,
    { secrets },
  );
  let replaced: Snapshot | undefined;
  try {
    const end = await lastBatchOf(reads);
    print([`Backup: '${shown}', ${describeEnd(end)}`]);
    let ends: readonly RestoredOver[] = [];
    let since = NO_CHANGES;
    if (openReplaced !== undefined) {
      const name = withoutPassword(config.database);
      try {
        replaced = await openReplaced();
        const secrets = openKeyring(config.database, config.encryption);
        await assertMasterKey(replaced, secrets.keyring, secrets);
        ends = await replacedEnds({ ...replaced, keyring: secrets.keyring }, clock());
        since = await compareWith(replaced, secrets.keyring, name, { store, reads });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        const { cause } = error.details;
        const reason =
          cause instanceof Error ? `${error.message} (${describeFault(cause)})` : error.message;
        if (!revive)
          throw new ServiceError(
            'bad_request',
            `${reason}. So the command cannot find the tokens and keys that were deleted since the backup, and they would be valid again. To accept this, add --revive`,
          );
        print([reason]);
      }
      const last = ends.at(-1)?.replaced;
      print([`Replaces: '${name}', ${describeEnd(last)}`, ...describe(since, revive)]);
      await ask(`Replace '${name}'?`);
    }
    const detail = { replaced: ends.at(-1)?.replaced ?? null, restored: end ?? null };
    const subject = { action: 'database:restore', detail };
    await database.write(endSessions);
    if (revive || isEmpty(since)) await record(subject);
    else
      await change(
        {
          store,
          clock,
          hooks,
          randomBytes,
          settings: LENIENT,
          policy: DEFAULT_POLICY,
          newId: randomUUID,
          onTokenRevoked: () => undefined,
          warn: () => undefined,
        },
        // By force, because what the backup knows of the name servers' configuration is old.
        { ...localOrigin(), ...subject, force: true },
        (changes) => withdraw(changes, since),
      );
    await database.write((sql) => noteRestores(sql, secrets.keyring, ends));
    await database.write((sql) => sql.run(WRITE_MARK, ['restored', shown, clock()]));
  } finally {
    await replaced?.close();
    await store.close();
  }
}

/** Throws `bad_request` or `unavailable` if this version cannot serve a backup. */
async function assertUsable(config: DatabaseAccess, setting: string, shown: string): Promise<void> {
  const { kind, location } = parseDatabase(setting);
  const snapshot = await kind.openSnapshot(location, config.databasePool);
  try {
    const schema = await schemaOf(snapshot);
    const problem =
      schema === undefined ? 'is not a database of this service.' : schemaProblem(schema);
    if (problem !== undefined)
      throw new ServiceError('bad_request', `The backup '${shown}' ${problem}`);
    const secrets = openKeyring(config.database, config.encryption);
    await assertMasterKey(snapshot, secrets.keyring, secrets);
  } finally {
    await snapshot.close();
  }
}

/**
 * Compares a backup with the database that it will replace. Throws `bad_request` if the database
 * does not continue the backup, and `unavailable` if it cannot be read.
 */
async function compareWith(
  replaced: Snapshot,
  keyring: Keyring,
  name: string,
  backup: Pick<OpenedDatabase, 'store' | 'reads'>,
): Promise<ChangesSince> {
  const schema = await schemaOf(replaced);
  if (schema !== NEWEST_SCHEMA || !(await isEarlierState(backup.reads, replaced.reads)))
    throw new ServiceError('bad_request', `The backup is not an earlier state of '${name}'`);
  return changesSince(backup.store, createReader(replaced, keyring));
}

function describeEnd(end: ChainEnd | undefined): string {
  return end === undefined ? 'without a sealed audit trail' : `audit batch ${end.number}`;
}

function describe(
  { deletedTokens, deletedKeys, retiredIds, retiredKeys, changedKeys, added }: ChangesSince,
  revive: boolean,
): string[] {
  const lines = [
    ...deletedTokens.map(({ name }) => `  token ${name}: deleted`),
    ...[...deletedKeys, ...retiredKeys].map(
      ({ id, name }) => `  tsigkey ${name}: ${retiredIds.has(id) ? 'retired' : 'deleted'}`,
    ),
    ...changedKeys.map(
      ({ current, given, grants }) =>
        `  tsigkey ${current.name}: other ${[...Object.keys(given), ...(grants === undefined ? [] : ['grants'])].join(', ')}`,
    ),
  ].sort();
  const heading = revive
    ? 'Withdrawn since the backup, and valid again because of --revive:'
    : 'Withdrawn since the backup, and not restored (--revive restores them):';
  const missing = [
    ...added.tokens.map((name) => `  token ${name}`),
    ...added.keys.map((name) => `  tsigkey ${name}`),
  ].sort();
  return [
    ...(lines.length > 0 ? [heading, ...lines] : []),
    ...(missing.length > 0 ? ['Created since the backup, and not in it:', ...missing] : []),
  ];
}
