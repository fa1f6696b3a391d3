import { NO_PREVIOUS, type ChainEnd } from '../chain.ts';
import type { AuditEntry } from '../../core/audit-record.ts';
import type { Tally } from '../tally.ts';
import { DAY_MS, earlier } from '../../core/text/timestamps.ts';
import { runJob } from '../../core/scheduling/job.ts';
import { insertRecord, insertRecords } from './records.ts';
import { leaseOn } from '../../sql/leases.ts';
import { readHead } from './head.ts';
import { noteRetention, purgeExpired } from './retention.ts';
import { sealBatch, type Sealer } from './seal.ts';

const INTERVAL_MS = 1000;

/** How long sealing pauses after a process ends without releasing the lease. */
const LEASE_MS = 10_000;

/** The number of intervals between checkpoints, and between two searches for expired batches. */
const CHECKPOINT_INTERVALS = 60;
const PURGE_INTERVALS = 3600;

const MAX_FINAL_BATCHES = 20;

interface TrailDependencies extends Omit<Sealer, 'lease'> {
  readonly tally: Tally;
  /** The id of this process. */
  readonly holder: string;
  checkpoint(end: ChainEnd): void;
  recorded(entry: AuditEntry): void;
  /** Reports the first failure of the job after a success. */
  failed(error: unknown): void;
  /**
   * Reports that another program deleted, changed or set back the head of the trail. `batch` is the
   * batch that was sealed next.
   */
  repaired(batch: ChainEnd): void;
  readonly intervalMs?: number | undefined;
}

export interface TrailState {
  readonly unsealed: number;
  readonly oldest: string | undefined;
  readonly lastBatch: number;
}

/** The job that seals records, writes combined events and deletes expired batches. */
export interface RunningTrail {
  /** Writes a record in its own transaction. Throws `unavailable` if the write fails. */
  commit(entry: AuditEntry): Promise<void>;
  state(): Promise<TrailState>;
  /** Writes and seals the remaining records. */
  close(): Promise<void>;
}

export function runTrail(dependencies: TrailDependencies): RunningTrail {
  const { database, now, tally, holder, recorded, intervalMs = INTERVAL_MS } = dependencies;
  // After a crash, the next process with exclusive access to a database need not wait for the
  // lease.
  const lease = leaseOn(
    database,
    'audit',
    database.exclusive ? 'the only process' : holder,
    LEASE_MS,
  );
  const sealer: Sealer = { ...dependencies, lease };
  let logged = 0;
  let lastSealed = 0;
  let interval = 0;
  let closed = false;

  const seal = async (): Promise<boolean> => {
    const sealed = await sealBatch(sealer, lastSealed);
    lastSealed = sealed?.number ?? lastSealed;
    if (sealed?.repair !== undefined) {
      recorded(sealed.repair);
      dependencies.repaired(sealed);
    }
    return sealed !== undefined;
  };

  const writeTally = async (isEnd = false) => {
    const entries = tally.finished(isEnd ? undefined : minuteOf(now()));
    if (entries.length === 0) return;
    await database.write((sql) => insertRecords(sql, entries));
    tally.written();
    for (const entry of entries) recorded(entry);
    if (isEnd) await writeTally(true);
  };

  const purge = async () => {
    const days = dependencies.retentionDays();
    const changed = await noteRetention(sealer);
    if (changed !== undefined) recorded(changed);
    while (days > 0 && !closed) {
      const entry = await purgeExpired(sealer, earlier(now(), days * DAY_MS));
      if (entry === undefined) return;
      recorded(entry);
    }
  };

  const logCheckpoint = async () => {
    const { number = 0, hash = NO_PREVIOUS } = (await readHead(database.reads)) ?? {};
    if (number === logged || number === 0) return;
    logged = number;
    dependencies.checkpoint({ number, hash });
  };

  const tick = async () => {
    interval += 1;
    await seal();
    if (interval % CHECKPOINT_INTERVALS !== 0) return;
    await logCheckpoint();
    if (interval % PURGE_INTERVALS === CHECKPOINT_INTERVALS) await purge();
  };
  const { failed } = dependencies;
  const writing = runJob({ everyMs: intervalMs, work: () => writeTally(), failed });
  const sealing = runJob({ everyMs: intervalMs, lease, work: tick, failed });

  return {
    async commit(entry) {
      await database.write((sql) => insertRecord(sql, entry));
      recorded(entry);
    },
    async state() {
      const { reads } = database;
      const row = await reads.one(
        'SELECT count(*) AS count FROM audit_records WHERE batch IS NULL',
        [],
      );
      const oldest = await reads.one(
        'SELECT at FROM audit_records WHERE batch IS NULL ORDER BY seq LIMIT 1',
        [],
      );
      const head = await readHead(reads);
      return {
        unsealed: Number(row?.count),
        oldest: oldest === undefined ? undefined : String(oldest.at),
        lastBatch: head?.number ?? 0,
      };
    },
    async close() {
      closed = true;
      await writing.close(() => writeTally(true));
      await sealing.close(async () => {
        for (let count = 0; count < MAX_FINAL_BATCHES; count += 1) if (!(await seal())) break;
        await logCheckpoint();
      });
    },
  };
}

function minuteOf(timestamp: string): string {
  return timestamp.slice(0, 16);
}
