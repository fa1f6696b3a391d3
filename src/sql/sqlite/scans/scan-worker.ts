import { DatabaseSync } from '@photostructure/sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { asError, isUnavailable } from '../../../core/errors.ts';
import { typeOfCollection } from '../../../resources/resources.ts';
import { scanOn } from './scan.ts';
import type { ScanFailure, ScanReply, ScanRequest } from './scan-thread.ts';

// The thread in which scans run, on a separate read-only connection. Concurrent scans take turns
// after each step.

const path = String(workerData);
const connection = new DatabaseSync(path, { readOnly: true });
for (const pragma of ['busy_timeout = 5000', 'temp_store = MEMORY'])
  connection.exec(`PRAGMA ${pragma}`);
const scan = scanOn(connection, path);
const cancelled = new Set<number>();
const active = new Set<number>();

parentPort?.on('message', (request: ScanRequest) => {
  if ('close' in request) close();
  else if ('cancel' in request) cancel(request.cancel);
  else void respond(request);
});

async function respond({
  number,
  collection,
  query,
}: Extract<ScanRequest, { readonly query: unknown }>): Promise<void> {
  active.add(number);
  let reply: ScanReply;
  try {
    reply = { number, found: await scan(typeOfCollection(collection), query, pause) };
  } catch (error) {
    reply = { number, failure: describeError(error) };
  }
  active.delete(number);
  cancelled.delete(number);
  parentPort?.postMessage(reply);

  /** Lets the thread run other scans and receive messages. Throws if the scan was cancelled. */
  async function pause(): Promise<void> {
    await new Promise((resume) => setImmediate(resume));
    if (cancelled.has(number)) throw new Error('The scan was cancelled');
  }
}

function cancel(number: number): void {
  if (active.has(number)) cancelled.add(number);
}

function close(): void {
  connection.close();
  parentPort?.close();
}

function describeError(error: unknown): ScanFailure {
  const { message, stack = '' } = asError(error);
  if (!isUnavailable(error)) return { unavailable: false, message, stack };
  const { retryAfterSeconds, cause } = error.details;
  return {
    unavailable: true,
    message,
    stack: cause instanceof Error ? cause.message : stack,
    retryAfterSeconds,
  };
}
