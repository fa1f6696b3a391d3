import { ServiceError } from '../../core/errors.ts';
import type { Keyring, WrappedKey } from '../../core/keyring.ts';
import type {
  Encryption,
  EncryptionStatus,
  EncryptionSummary,
  SecretVerification,
} from '../encryption-status.ts';
import { runJob } from '../../core/scheduling/job.ts';
import { millisecondsOf } from '../../core/text/timestamps.ts';
import { messageOf } from '../../net/faults.ts';
import { insertRecord } from '../../audit/store/records.ts';
import { createDataKey, isSecretsKey, readDataKeys } from '../../sql/data-keys.ts';
import { readMark, WRITE_MARK } from '../../sql/marks.ts';
import type { Database, Sql } from '../../sql/sql.ts';
import { checkCredentials } from './check-credentials.ts';
import { lostSecrets } from './reset.ts';
import { allSecrets, canDecrypt, countUnder, reEncrypt, SECRET_PLACES } from './re-encrypt.ts';

const INTERVAL_MS = 10_000;

const MAX_LISTED = 100;

interface EncryptionDependencies {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly required: boolean;
  now(): string;
  failed(error: unknown): void;
  readonly intervalMs?: number | undefined;
}

/** The operations on the keys of an open database. A job loads the changes of other processes. */
interface RunningEncryption extends Encryption {
  close(): Promise<void>;
}

export function runEncryption({
  database,
  keyring,
  required,
  now,
  failed,
  intervalMs = INTERVAL_MS,
}: EncryptionDependencies): RunningEncryption {
  let closed = false;

  /**
   * Encrypts all secrets with the newest data key, and deletes the former one. Waits two intervals
   * before the deletion, so that every process has loaded the newest key by then. The foreign key
   * refuses the deletion if a late process has used the former key.
   */
  const tick = async (): Promise<void> => {
    const all = await readDataKeys(database.reads);
    const missing = keyring.load(all);
    const keys = all.filter(isSecretsKey);
    const newest = keys.at(-1);
    if (newest === undefined) return;
    if (missing.length > 0) assertMasterKeys(all);
    const age = millisecondsOf(now()) - millisecondsOf(newest.createdAt);
    for (const { number } of keys.slice(0, -1)) {
      await reEncrypt(database, keyring, number, () => closed);
      if (!database.exclusive && age < 2 * intervalMs) continue;
      await database.migrate(async (sql) => {
        if ((await countUnder(sql, number)) === 0)
          await sql.run('DELETE FROM data_keys WHERE number = ?', [number]);
      });
    }
    assertMasterKeys(all);
  };

  /** Throws if the next start would fail with the current master keys. */
  const assertMasterKeys = (keys: readonly WrappedKey[]): void => {
    try {
      keyring.readMasterKeys(keys);
    } catch (error) {
      throw new Error(
        `${messageOf(error)}. The service uses the former master keys until it stops`,
      );
    }
  };

  const job = runJob({
    everyMs: intervalMs,
    work: tick,
    failed: (error) => (closed ? undefined : failed(error)),
  });
  if (keyring.masterKeys.length > 0) job.wake();

  const summary = async (most?: number): Promise<EncryptionSummary> => {
    const { reads } = database;
    const lost = await lostSecrets(reads);
    return {
      clear_text: await countUnder(reads, null, most),
      unreadable: await countUnreadable(reads, keyring),
      master_key_copied: (await readMark(reads, 'master-key'))?.other === keyring.masterKeys[0]?.id,
      lost_count: lost.length,
      lost: lost.slice(0, MAX_LISTED),
    };
  };

  const status = async (): Promise<EncryptionStatus> => {
    const dataKeys = [];
    for (const { number, wrappedBy, createdAt } of (await readDataKeys(database.reads)).filter(
      isSecretsKey,
    )) {
      const secrets = await countUnder(database.reads, number);
      dataKeys.push({ number, master_key: wrappedBy, created_at: createdAt, secrets });
    }
    return {
      ...(await summary()),
      master_keys: keyring.masterKeys.map(({ id }) => id),
      data_keys: dataKeys,
      mac_key: keyring.auditKey()?.number ?? null,
      required,
    };
  };

  return {
    summary,
    status,
    verify: () => verifySecrets(database, keyring),
    async rotate(entry) {
      await database.migrate(async (sql) => {
        const keys = await readDataKeys(sql);
        keyring.readMasterKeys(keys);
        await assertNoRotation(sql, keys);
        const number = await createDataKey(sql, keyring, 'secrets', now());
        await insertRecord(sql, { ...entry, detail: { data_key: number } });
      });
      job.wake();
      return status();
    },
    async rotateMasterKey(entry) {
      await database.migrate(async (sql) => {
        const keys = await readDataKeys(sql);
        keyring.readMasterKeys(keys);
        for (const key of keys) {
          const { wrapped, wrappedBy } = keyring.rewrap(key);
          await sql.run('UPDATE data_keys SET wrapped = ?, wrapped_by = ? WHERE number = ?', [
            wrapped,
            wrappedBy,
            key.number,
          ]);
        }
        // Check before the commit that the new master key unwraps every data key.
        keyring.readMasterKeys(await readDataKeys(sql));
        const master = keyring.masterKeys[0]?.id ?? null;
        await insertRecord(sql, { ...entry, detail: { master_key: master } });
      });
      return status();
    },
    async confirmCopy(entry) {
      await database.migrate(async (sql) => {
        const id = keyring.masterKeys[0]?.id ?? '';
        await sql.run(WRITE_MARK, ['master-key', id, entry.at]);
        await insertRecord(sql, { ...entry, detail: { master_key: id } });
      });
      return status();
    },
    async close() {
      closed = true;
      await job.close();
    },
  };
}

async function assertNoRotation(sql: Sql, keys: readonly WrappedKey[]): Promise<void> {
  const [former, newest] = keys.filter(isSecretsKey);
  if (former === undefined || newest === undefined) return;
  const count = await countUnder(sql, former.number);
  throw new ServiceError(
    'rotation_in_progress',
    `The service is still replacing data key ${former.number}, which encrypts ${count} secrets. Repeat the request when 'tsigil encryption status' shows one data key`,
  );
}

/** Returns how many of the rows whose secret this process could not decrypt are still unreadable. */
async function countUnreadable(sql: Sql, keyring: Keyring): Promise<number> {
  for (const row of keyring.unreadable()) {
    const { table, column, id } = row;
    const keyColumn = SECRET_PLACES.find((place) => place.table === table)?.keyColumn;
    const stored = await sql.one(
      `SELECT ${column} AS secret, ${keyColumn} AS number FROM ${table} WHERE id = ?`,
      [id],
    );
    const keyNumber = stored?.number == null ? null : Number(stored.number);
    const decrypt = () =>
      keyring.cipherOf(table, column).decrypt(id, { text: String(stored?.secret), keyNumber });
    if (stored === undefined || canDecrypt(decrypt)) keyring.forget(row);
  }
  return keyring.unreadable().length;
}

async function verifySecrets(database: Database, keyring: Keyring): Promise<SecretVerification> {
  const unreadable: { collection: string; id: string }[] = [];
  let [checked, count] = [0, 0];
  for await (const { place, id, isReadable } of allSecrets(database.reads, keyring)) {
    checked += 1;
    if (isReadable) continue;
    count += 1;
    if (unreadable.length < MAX_LISTED) unreadable.push({ collection: place.table, id });
  }
  const credentials = await checkCredentials(database, keyring);
  return {
    checked,
    unreadable_count: count,
    unreadable,
    credentials_checked: credentials.checked,
    forged_count: credentials.forged.length,
    forged: credentials.forged.slice(0, MAX_LISTED).map(({ type: { collection }, resource }) => ({
      collection,
      id: resource.id,
    })),
  };
}
