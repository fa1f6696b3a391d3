import type { Keyring } from '../domain/encryption/keyring.ts';
import type { Clock, Store } from '../domain/model/ports.ts';
import type { AuditSubject } from '../domain/operations/audit-entry.ts';
import { recordLocally } from './audit/local.ts';
import { parseDatabase } from './databases.ts';
import { noteRestores, type RestoredOver } from './restore.ts';
import { migrate } from './migrate.ts';
import type { EncryptionReport } from './secrets/start.ts';
import type { Database, DatabaseSettings, Sql } from './sql/sql.ts';
import { createStore } from './store.ts';

/** The time limit of a list or a count in commands such as copy-database, where no client waits. */
const COPY_TIMEOUT_SECONDS = 3600;

/** The encryption of a database that a command opens. */
export interface CommandSecrets {
  readonly keyring: Keyring;
  /**
   * Prepares the encryption of the database. `updateSchema` updates the schema and returns the
   * applied steps.
   */
  prepare(
    database: Database,
    updateSchema: () => Promise<readonly number[]>,
  ): Promise<{ readonly report: EncryptionReport; readonly steps: readonly number[] }>;
}

/** An open database whose schema is up to date. */
export interface OpenedDatabase {
  readonly store: Store;
  readonly reads: Sql;
  readonly database: Database;
  /** The schema steps that `openDatabase` applied. */
  readonly steps: readonly number[];
  /** Writes an audit record about a command on this machine. */
  record(subject: Pick<AuditSubject, 'action' | 'detail'>): Promise<void>;
  /**
   * Notes in the head of the trail that this database is a backup, restored over a database whose
   * trail had these ends.
   */
  noteRestores(ends: readonly RestoredOver[]): Promise<void>;
  /** The report of `CommandSecrets.prepare`; undefined without `secrets`. */
  readonly report?: EncryptionReport;
}

/**
 * Opens the database with the URL `setting` for a command, and updates its schema. With `secrets`,
 * also prepares the encryption of the database. Otherwise, the database stores secrets in clear
 * text. Throws `ServiceError` `unavailable` if the database cannot be used.
 */
export async function openDatabase(
  setting: string,
  pool: DatabaseSettings,
  clock: Clock,
  secrets?: CommandSecrets,
): Promise<OpenedDatabase> {
  const { kind, location } = parseDatabase(setting);
  const database = await kind.open(
    location,
    { committed: () => undefined },
    { ...pool, scanTimeoutSeconds: COPY_TIMEOUT_SECONDS, keyring: secrets?.keyring },
  );
  try {
    const updateSchema = () => migrate(database, clock());
    const { steps, report } =
      secrets === undefined
        ? { steps: await updateSchema() }
        : await secrets.prepare(database, updateSchema);
    return {
      store: createStore(database),
      reads: database.reads,
      database,
      steps,
      record: (subject) => recordLocally(database, { ...subject, at: clock() }),
      noteRestores: (ends) => noteRestores(database, secrets?.keyring, ends),
      ...(report === undefined ? {} : { report }),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
