import { ServiceError } from '../../domain/model/errors.ts';
import type { Keyring, WrappedKey } from '../../domain/encryption/keyring.ts';
import type {
  Encryption,
  EncryptionStatus,
  SecretVerification,
} from '../../domain/encryption/status.ts';
import { insertRecord } from '../sql/audit-records.ts';
import { readDataKeys } from '../sql/data-keys.ts';
import type { Database, Sql } from '../sql/sql.ts';
import { removeProcess, reportProcess } from './processes.ts';
import { masterKeyFollower, NO_KEYS, problemWith, type ReadMasterKeys } from './master-keys.ts';
import { checkCredentials } from './credentials.ts';
import { lostKeys } from './reset.ts';
import { insertDataKey, isActive } from './start.ts';
import { isKey, isReadable, reEncrypt, SECRET_PLACES, secretsUnder } from './re-encrypt.ts';

/**
 * How often a process loads the data keys that other processes may have changed, and reports its
 * master keys.
 */
const INTERVAL_MS = 10_000;

/**
 * The number of intervals that a draining data key must stay without secrets before it is retired.
 * By then, every process encrypts with the active data key.
 */
const EMPTY_INTERVALS = 2;

/** The maximum number of unreadable secrets in one response. */
const MAX_LISTED = 100;

/** The dependencies of `runEncryption`. */
export interface EncryptionDependencies {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly required: boolean;
  /** Returns the current master keys, or why they cannot be read. */
  readMasterKeys(): ReadMasterKeys;
  /** Returns the current time as a timestamp of the API. */
  now(): string;
  /** The id and the host of this process. */
  readonly process: { readonly id: string; readonly host: string };
  /** Reports a failure of the job that `runEncryption` starts. */
  failed(error: unknown): void;
  readonly intervalMs?: number | undefined;
}

/** The operations on the keys of an open database. A job loads the changes of other processes. */
export interface RunningEncryption extends Encryption {
  close(): Promise<void>;
}

/** Starts the job, and returns the operations on the keys of an open database. */
export function runEncryption({
  database,
  keyring,
  required,
  readMasterKeys,
  now,
  process,
  failed,
  intervalMs = INTERVAL_MS,
}: EncryptionDependencies): RunningEncryption {
  let closed = false;
  const emptyIntervals = new Map<number, number>();

  const follow = masterKeyFollower(keyring, readMasterKeys, failed);

  /** Uses the current master keys if they unwrap every data key. Loads the data keys. */
  const reload = async (): Promise<readonly WrappedKey[]> => {
    const dataKeys = await readDataKeys(database.reads);
    follow(dataKeys);
    keyring.load(dataKeys);
    return dataKeys;
  };

  /**
   * Re-encrypts secrets under former data keys with the active data key, and retires data keys
   * without secrets.
   */
  const drain = async (): Promise<void> => {
    const keys = await reload();
    const active = keys.find(isActive);
    if (active === undefined) return;
    if (!required && !database.exclusive) await reEncrypt(database, keyring, null, () => closed);
    for (const { number, state } of keys) {
      if (number === active.number) continue;
      await reEncrypt(database, keyring, number, () => closed);
      if (state !== 'draining') continue;
      const isEmpty = (await countUnder(database.reads, number)) === 0;
      const intervals = isEmpty ? (emptyIntervals.get(number) ?? 0) + 1 : 0;
      emptyIntervals.set(number, intervals);
      if (intervals > (database.exclusive ? 0 : EMPTY_INTERVALS))
        await database.migrate(async (sql) => {
          await setState(sql, number, 'draining', 'retired');
        });
    }
  };

  const tick = async () => {
    if (!database.exclusive) await report();
    await drain();
  };

  const report = async () => {
    const masterKeys = keyring.masterKeys.map(({ id }) => id);
    let processes: Awaited<ReturnType<typeof reportProcess>> = [];
    await database.migrate(async (sql) => {
      processes = await reportProcess(sql, { ...process, masterKeys });
    });
    return processes;
  };

  let isRequested = false;
  let running: Promise<void> | undefined;
  /** Runs the job. Repeats the job if `start` was called during the run. */
  const run = async () => {
    while (isRequested && !closed) {
      isRequested = false;
      await tick().catch((error: unknown) => {
        if (!closed) failed(error);
      });
    }
    running = undefined;
  };
  const start = () => {
    isRequested = true;
    running ??= run();
  };

  const status = async (): Promise<EncryptionStatus> => {
    const dataKeys = [];
    for (const { number, purpose, state, ...key } of await readDataKeys(database.reads)) {
      if (purpose === 'mac') continue;
      const secrets = await countUnder(database.reads, number);
      const { wrappedBy: master_key, createdAt: created_at } = key;
      dataKeys.push({ number, state, master_key, created_at, secrets });
    }
    const lost = await lostKeys(database.reads, keyring);
    return {
      master_keys: keyring.masterKeys.map(({ id }) => id),
      data_keys: dataKeys,
      clear_text: await countUnder(database.reads, null),
      unreadable: keyring.unreadable(),
      lost_count: lost.length,
      audit_key: keyring.auditKey()?.number ?? null,
      lost: lost.slice(0, MAX_LISTED),
      required,
    };
  };

  const assertKeys = () => {
    if (keyring.masterKeys.length === 0)
      throw new ServiceError(
        'bad_request',
        'No master key is configured. Set encryption.masterKeyFile and restart the service',
      );
  };

  const timer = database.exclusive ? undefined : setInterval(start, intervalMs).unref();
  if (keyring.masterKeys.length > 0) start();

  return {
    status,
    verify: () => verifySecrets(database, keyring),
    async rotateDataKey(entry) {
      assertKeys();
      const at = now();
      await database.migrate(async (sql) => {
        const keys = await readDataKeys(sql);
        const number = Math.max(...keys.map((key) => key.number)) + 1;
        for (const key of keys.filter(isActive))
          await setState(sql, key.number, 'active', 'draining');
        await insertDataKey(sql, keyring.newDataKey(number, 'secrets', at));
        await insertRecord(sql, { ...entry, detail: { data_key: number } });
      });
      await reload();
      start();
      return status();
    },
    async rotateMasterKey(entry) {
      const { keys: masterKeys, problem } = readMasterKeys();
      if (problem !== undefined) throw new ServiceError('bad_request', problem);
      const unfit = problemWith(keyring, masterKeys, await readDataKeys(database.reads));
      if (unfit !== undefined)
        throw new ServiceError(
          'bad_request',
          `${unfit}. Add the line of that key after the line of the new key`,
        );
      if (masterKeys.length > 0) keyring.useMasterKeys(masterKeys);
      else if (keyring.masterKeys.length > 0)
        throw new ServiceError('bad_request', `${NO_KEYS}. Restore it`);
      assertKeys();
      const [wrapping] = keyring.masterKeys;
      const id = wrapping?.id ?? '';
      if (!database.exclusive) {
        const lacking = (await report()).find((each) => !each.masterKeys.includes(id));
        if (lacking !== undefined)
          throw new ServiceError(
            'key_not_distributed',
            `A process on '${lacking.host}' does not have master key ${id} yet. Copy the master key file to that host, wait 10 s and repeat the request`,
          );
      }
      await database.migrate(async (sql) => {
        for (const key of await readDataKeys(sql)) {
          const { wrapped, wrappedBy } = keyring.rewrap(key);
          await sql.run('UPDATE data_keys SET wrapped = ?, wrapped_by = ? WHERE number = ?', [
            wrapped,
            wrappedBy,
            key.number,
          ]);
        }
        // Check before the commit that the new master key unwraps every data key.
        if (keyring.load(await readDataKeys(sql)).length > 0)
          throw new Error('A data key cannot be unwrapped with the new master key');
        await insertRecord(sql, { ...entry, detail: { master_key: id } });
      });
      return status();
    },
    async prune(entry) {
      await database.migrate(async (sql) => {
        const deleted: number[] = [];
        for (const { number, state, purpose } of await readDataKeys(sql)) {
          if (purpose === 'mac' || state !== 'retired') continue;
          if ((await countUnder(sql, number)) > 0) continue;
          await sql.run('DELETE FROM data_keys WHERE number = ?', [number]);
          deleted.push(number);
        }
        await insertRecord(sql, { ...entry, detail: { data_keys: deleted } });
      });
      await reload();
      return status();
    },
    async close() {
      closed = true;
      clearInterval(timer);
      await running;
      if (!database.exclusive)
        await database.migrate((sql) => removeProcess(sql, process.id)).catch(() => undefined);
    },
  };
}

async function setState(sql: Sql, number: number, from: string, to: string): Promise<void> {
  await sql.run('UPDATE data_keys SET state = ? WHERE number = ? AND state = ?', [
    to,
    number,
    from,
  ]);
}

/** Returns the number of secrets under a data key; null counts secrets that are not encrypted. */
export async function countUnder(sql: Sql, number: number | null): Promise<number> {
  let count = 0;
  for (const { table, keyColumn } of SECRET_PLACES) {
    const { text, parameters } = isKey(keyColumn, number);
    const row = await sql.one(`SELECT count(*) AS count FROM ${table} WHERE ${text}`, parameters);
    count += Number(row?.count);
  }
  return count;
}

/**
 * Decrypts every secret of a database, and checks the MAC of every credential. Returns what is
 * unreadable or forged.
 */
export async function verifySecrets(
  database: Database,
  keyring: Keyring,
): Promise<SecretVerification> {
  const unreadable: { collection: string; id: string }[] = [];
  let [checked, count] = [0, 0];
  const numbers = [null, ...(await readDataKeys(database.reads)).map(({ number }) => number)];
  for (const place of SECRET_PLACES) {
    const { table: collection, column } = place;
    const cipher = keyring.cipherOf(collection, column);
    for (const keyNumber of numbers)
      for await (const { id, secret } of secretsUnder(database.reads, place, keyNumber)) {
        checked += 1;
        if (isReadable(() => cipher.decrypt(id, { text: secret, keyNumber }))) continue;
        count += 1;
        if (unreadable.length < MAX_LISTED) unreadable.push({ collection, id });
      }
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
