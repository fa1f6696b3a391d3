import { constants } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { findBrand } from '../brands/brands.ts';
import { readUse, type KeyLog, type LoggedUse, type Operation } from '../brands/key-log.ts';
import { isObject } from '../core/field.ts';
import { testPortsAbout } from '../dns/test-ports.ts';
import { runJob, type Job } from '../core/scheduling/job.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
import { DAY_MS, millisecondsOf, timestampOf } from '../core/text/timestamps.ts';
import { lastSent, takeUnaccepted } from '../net/dns.ts';
import { describeFault } from '../net/faults.ts';
import { notAFile } from '../net/files.ts';
import {
  MAX_USES,
  type FollowedKeys,
  type KeyUse,
  type LogReader,
  type LogReaderOf,
} from '../delivery/log-protocol.ts';

const READ_MS = 1000;

const READ_BYTES = 64 * 1024;

/** The longest part of a line that is kept until its end is written. */
const MAX_REST = 5000;

/** A request from this process is in the log within this time. */
const OWN_MS = 2000;

const MINUTE_MS = 60_000;

/** The file that is read, and the start of the line whose end was not read yet. */
interface OpenLog {
  readonly handle: FileHandle;
  readonly id: string;
  offset: number;
  rest: Buffer;
  lineStart: number;
}

type Uses = Map<string, KeyUse>;

export const createLogReaderOf: LogReaderOf = ({ driver, local }) => {
  const brand = findBrand(driver);
  const isGiven = brand !== undefined && isObject(local) && typeof local.log === 'string';
  return isGiven ? createLogReader(String(local.log), brand.log) : undefined;
};

export function createLogReader(path: string, log: KeyLog, now = Date.now): LogReader {
  let keys: FollowedKeys = new Map();
  /** The ports from which commands test keys, by the name of the key, and their minute. */
  let tests = new Map<string, { readonly minute: number; readonly ports: ReadonlySet<number> }>();
  let job: Job | undefined;
  let isClosed = false;
  let file: OpenLog | undefined;
  /** Whether the path leads to another file, so that the open one is read for the last time. */
  let isReplaced = false;
  let position: string | null = null;
  let problem: string | null = null;
  let shown = new Map<Operation, { since: number; last: number }>();
  let pending: Uses = new Map();
  let taken: Uses = new Map();
  /** The time when the reader last began to read the end of the file. Undefined before. */
  let atEnd: number | undefined;
  const buffer = Buffer.alloc(READ_BYTES);

  const openLog = async (startAt: (id: string, size: number) => number): Promise<OpenLog> => {
    // Without O_NONBLOCK, opening a named pipe waits for a writer.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const status = await handle.stat({ bigint: true });
      if (!status.isFile()) throw notAFile(path);
      const id = `${status.dev}:${status.ino}`;
      const offset = startAt(id, Number(status.size));
      return { handle, id, offset, rest: Buffer.alloc(0), lineStart: offset };
    } catch (error) {
      await handle.close();
      throw error;
    }
  };

  const start = (id: string, size: number): number => {
    const [, known, offset] = /^(.+):(\d+)$/.exec(position ?? '') ?? [];
    if (known === id && Number(offset) <= size) return Number(offset);
    shown = new Map(); // what was logged meanwhile was not read
    return size;
  };

  /** Returns whether a request comes from a port from which commands test the key now. */
  const isTest = (name: string, port: number | undefined, at: number): boolean => {
    const key = keys.get(name) ?? null;
    if (port === undefined || key === null) return false;
    const minute = Math.floor(at / MINUTE_MS);
    const known = tests.get(name);
    if (known?.minute === minute) return known.ports.has(port);
    const ports = testPortsAbout(key, at);
    tests.set(name, { minute, ports });
    return ports.has(port);
  };

  /** Returns whether a request is a probe of this process, or may be one of its predecessor. */
  const isOwn = (key: string, { outcome, address, port }: LoggedUse): boolean => {
    if (atEnd === undefined) return hostAddresses().has(address);
    const since = atEnd - OWN_MS;
    if (port === undefined) return outcome === 'refused' && takeUnaccepted(address, key, since);
    return (lastSent(address, port) ?? 0) >= since;
  };

  const note = (use: LoggedUse, at: number): void => {
    const minute = Math.floor(at / MINUTE_MS) * MINUTE_MS;
    if (use.outcome === 'accepted') {
      const former = shown.get(use.operation);
      const isDaily = former !== undefined && at - former.last <= DAY_MS;
      shown.set(use.operation, { since: isDaily ? former.since : minute, last: minute });
    }
    const key = comparisonForm(use.key);
    if (!keys.has(key) || isTest(key, use.port, at) || isOwn(key, use)) return;
    const { operation, outcome, address } = use;
    const time = timestampOf(minute);
    add(pending, { key, operation, outcome, address, first_at: time, last_at: time, count: 1 });
  };

  const consume = (current: OpenLog, chunk: Buffer): void => {
    const at = now();
    const text = Buffer.concat([current.rest, chunk]);
    const end = text.lastIndexOf(10) + 1;
    current.offset += chunk.length;
    current.rest = Buffer.from(text.subarray(end, end + MAX_REST));
    if (end === 0) return;
    current.lineStart = current.offset - (text.length - end);
    for (const line of text.toString('latin1', 0, end).split(/\r?\n/)) {
      const use = readUse(log, line);
      if (use !== undefined) note(use, at);
    }
    position = `${current.id}:${current.lineStart}`;
  };

  /** Returns whether there is more to read: the file was truncated, or replaced. */
  const isRotated = async (current: OpenLog): Promise<boolean> => {
    if (isReplaced) {
      file = await openLog(() => 0);
      isReplaced = false;
      await current.handle.close();
      return true;
    }
    const { size } = await current.handle.stat();
    if (size < current.offset) {
      Object.assign(current, { offset: 0, lineStart: 0, rest: Buffer.alloc(0) });
      return true;
    }
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    // A server may write to the former file until it opens the new one.
    isReplaced =
      found !== undefined && `${found.dev}:${found.ino}` !== current.id && found.size > 0;
    return isReplaced;
  };

  const read = async (): Promise<void> => {
    try {
      while (!isClosed) {
        file ??= await openLog(start);
        const current = file;
        position ??= `${current.id}:${current.lineStart}`;
        const began = now();
        const { bytesRead } = await current.handle.read(buffer, 0, READ_BYTES, current.offset);
        consume(current, buffer.subarray(0, bytesRead));
        if (bytesRead === READ_BYTES) continue;
        const isMore = await isRotated(current);
        atEnd = began;
        if (!isMore) break;
      }
      problem = null;
    } catch (error) {
      problem = `'${path}' cannot be read: ${describeFault(error)}`;
    }
  };

  return {
    follow(some, evidence, from) {
      keys = some;
      tests = new Map();
      if (job !== undefined || isClosed) return;
      position = evidence === null ? null : from;
      if (evidence === null) problem = `'${path}' was not read yet`; // uses are counted from then on
      const known = position === null ? [] : (evidence?.shown ?? []);
      for (const { operation, since, last } of known)
        shown.set(operation, { since: millisecondsOf(since), last: millisecondsOf(last) });
      job = runJob({ everyMs: READ_MS, work: read, failed: () => undefined });
      job.wake();
    },
    take() {
      for (const use of pending.values()) add(taken, use);
      pending = new Map();
      const since = [...shown].map(([operation, at]) => ({
        operation,
        since: timestampOf(at.since),
        last: timestampOf(at.last),
      }));
      return {
        uses: [...taken.values()],
        evidence: { problem, shown: since },
        log_position: position,
      };
    },
    acknowledge: () => void (taken = new Map()),
    async close() {
      isClosed = true;
      await job?.close();
      await file?.handle.close();
    },
  };
}

function hostAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((some = []) => some);
  return new Set(all.map(({ address }) => address));
}

function add(uses: Uses, use: KeyUse): void {
  const id = [use.key, use.operation, use.outcome, use.address].join(' ');
  const former = uses.get(id);
  if (former === undefined && uses.size >= MAX_USES && !makeRoom(uses, use)) return;
  const { first_at, count } = former ?? { first_at: use.first_at, count: 0 };
  uses.set(id, { ...use, first_at, count: count + use.count });
}

/** Forgets a refused request, which anyone can send, for a use by a client that has the key. */
function makeRoom(uses: Uses, { outcome }: KeyUse): boolean {
  if (outcome === 'refused') return false;
  for (const [id, other] of uses) if (other.outcome === 'refused') return uses.delete(id);
  return false;
}
