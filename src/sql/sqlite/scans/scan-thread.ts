import { Worker } from 'node:worker_threads';
import { asError, ServiceError } from '../../../core/errors.ts';
import type { Keyring } from '../../../core/keyring.ts';
import type { PageQuery } from '../../../core/query.ts';
import type { Resource } from '../../../core/resource.ts';
import { typeOfCollection } from '../../../resources/resources.ts';
import type { Database } from '../../sql.ts';
import { tablesIn } from '../../table.ts';
import { dialect } from '../connection/dialect.ts';
import { rowsOf, type Found } from './scan.ts';

export type ScanRequest =
  | { readonly number: number; readonly collection: string; readonly query: PageQuery }
  | { readonly cancel: number }
  | { readonly close: true };

export type ScanReply =
  | { readonly number: number; readonly found: Found }
  | { readonly number: number; readonly failure: ScanFailure };

export interface ScanFailure {
  /** True for a `ServiceError` `unavailable`. `stack` is then the message of its cause. */
  readonly unavailable: boolean;
  readonly message: string;
  readonly stack: string;
  readonly retryAfterSeconds?: number | undefined;
}

export interface ScanThread {
  /** Rejects with the signal's reason if it aborts, and with `unavailable` if the thread exits. */
  readonly scan: Database['scan'];
  /** Ends the thread; scans in progress fail with `unavailable`. */
  close(): Promise<void>;
}

const IDLE_MS = 60_000;

/** The limits of the thread's JavaScript heap and stack do not include SQLite's memory. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

export function startScanWorker(path: string): Worker {
  return new Worker(new URL('./scan-worker.js', import.meta.url), {
    workerData: path,
    resourceLimits: LIMITS,
  });
}

interface Pending {
  resolve(found: Found): void;
  reject(error: Error): void;
}

interface Running {
  readonly worker: Worker;
  readonly pending: Map<number, Pending>;
  readonly ended: Promise<void>;
}

/**
 * Runs scans in a thread that decrypts no secrets. `keyring` decrypts the secrets of the result.
 * Calls `start` for the first scan, and again for the next scan after the thread has exited.
 */
export function createScanThread(
  start: () => Worker,
  idleMs = IDLE_MS,
  keyring?: Keyring,
): ScanThread {
  let running: Running | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last = 0;
  const tableFor = tablesIn(dialect, keyring);

  const begin = (): Running => {
    const worker = start();
    const pending = new Map<number, Pending>();
    let death: Error | undefined;
    worker.on('message', (reply: ScanReply) => {
      if ('found' in reply) pending.get(reply.number)?.resolve(reply.found);
      else pending.get(reply.number)?.reject(errorOf(reply.failure));
    });
    worker.on('error', (error: Error) => {
      death = error;
    });
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        if (running?.worker === worker) running = undefined;
        for (const { reject } of pending.values()) reject(died(death));
        resolve();
      });
    });
    running = { worker, pending, ended };
    return running;
  };

  const end = ({ worker, ended }: Running): Promise<void> => {
    running = undefined;
    worker.ref(); // otherwise a process without other work would exit before the thread does
    worker.postMessage({ close: true } satisfies ScanRequest);
    return ended;
  };

  return {
    async scan(collection, query, signal) {
      signal.throwIfAborted();
      clearTimeout(idle);
      const thread = running ?? begin();
      const { worker, pending } = thread;
      const number = (last += 1);
      const cancel = () => {
        worker.postMessage({ cancel: number } satisfies ScanRequest);
        pending.get(number)?.reject(asError(signal.reason));
      };
      signal.addEventListener('abort', cancel);
      worker.ref();
      try {
        const { columns, texts, more, total } = await new Promise<Found>((resolve, reject) => {
          pending.set(number, { resolve, reject });
          worker.postMessage({ number, collection, query } satisfies ScanRequest);
        });
        if (texts.length === 0) return { resources: [], more, total };
        const table = tableFor(typeOfCollection(collection));
        const resources = texts.flatMap((text) =>
          rowsOf(columns, text).map((row) => table.decode(row)),
        );
        return { resources: texts.length > 1 ? eachOnce(resources) : resources, more, total };
      } finally {
        signal.removeEventListener('abort', cancel);
        pending.delete(number);
        if (pending.size === 0) {
          worker.unref();
          idle = setTimeout(() => void (running === thread && end(thread)), idleMs).unref();
        }
      }
    },
    async close() {
      clearTimeout(idle);
      if (running !== undefined) await end(running);
    },
  };
}

/** A row that moved during the scan and was read twice counts at its last position only. */
function eachOnce(resources: Resource[]): Resource[] {
  const last = new Map(resources.map(({ id }, index) => [id, index]));
  return last.size === resources.length
    ? resources
    : resources.filter(({ id }, index) => last.get(id) === index);
}

function died(cause: Error | undefined): ServiceError {
  return new ServiceError(
    'unavailable',
    'The list could not be read completely. Repeat the request, or set a smaller limit.',
    {
      retryAfterSeconds: 1,
      cause: cause ?? new Error('The thread for scans exited'),
    },
  );
}

function errorOf({ unavailable, message, stack, retryAfterSeconds }: ScanFailure): Error {
  if (!unavailable) return Object.assign(new Error(message), { stack });
  return new ServiceError('unavailable', message, { retryAfterSeconds, cause: new Error(stack) });
}
