import type { Clock, Store } from '../core/ports.ts';
import type { AuditSubject } from '../core/audit-record.ts';
import { recordLocally } from '../audit/store/record-command.ts';
import { parseDatabase } from '../sql/databases.ts';
import { migrate } from '../sql/migrate.ts';
import { prepareSecrets, type OpenedKeyring } from '../secrets/store/open-keyring.ts';
import type { EncryptionReport } from '../secrets/store/start.ts';
import type { Database, DatabaseObserver, DatabaseSettings, Sql } from '../sql/sql.ts';
import { createStore } from './store.ts';

/** The time limit of a list or a count in commands such as copy-database, where no client waits. */
const COPY_TIMEOUT_SECONDS = 3600;

const NOTHING_PREPARED: EncryptionReport = { clear: 0, unsigned: 0 };

interface OpenOptions {
  /** The encryption of secrets. Without it, the database stores secrets in clear text. */
  readonly secrets?: OpenedKeyring;
  /** Absent for a command, which has neither metrics nor clients that wait for a list. */
  readonly serving?: { readonly observer: DatabaseObserver; readonly scanTimeoutSeconds: number };
}

export interface OpenedDatabase {
  readonly store: Store;
  readonly reads: Sql;
  readonly database: Database;
  readonly steps: readonly number[];
  record(subject: Pick<AuditSubject, 'action' | 'detail'>): Promise<void>;
  /** What the preparation of the encryption found and did: nothing without `secrets`. */
  readonly report: EncryptionReport;
}

/**
 * Opens the database with the URL `setting`, updates its schema, and prepares the encryption of its
 * secrets. Throws `ServiceError` `unavailable` if the database cannot be used.
 */
export async function openDatabase(
  setting: string,
  pool: DatabaseSettings,
  clock: Clock,
  { secrets, serving }: OpenOptions = {},
): Promise<OpenedDatabase> {
  const { kind, location } = parseDatabase(setting);
  const database = await kind.open(location, serving?.observer ?? { committed: () => undefined }, {
    ...pool,
    scanTimeoutSeconds: serving?.scanTimeoutSeconds ?? COPY_TIMEOUT_SECONDS,
    keyring: secrets?.keyring,
  });
  try {
    const updateSchema = () => migrate(database, clock());
    const { steps, report } =
      secrets === undefined
        ? { steps: await updateSchema(), report: NOTHING_PREPARED }
        : await prepareSecrets(database, secrets, updateSchema, clock);
    return {
      store: createStore(database),
      reads: database.reads,
      database,
      steps,
      record: (subject) => recordLocally(database, { ...subject, at: clock() }),
      report,
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
