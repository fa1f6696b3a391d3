import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ATTACKER } from '../harness/connections.ts';

/**
 * A placeholder for 12 new hexadecimal digits. The placeholder also has 12 characters, so that
 * Content-Length stays correct.
 */
export const NEW_WORD = '<a-new-word>';

/** Bytes that an attacker sends at once, with the number of requests in these bytes. */
export interface Block {
  readonly text: string;
  readonly requests: number;
}

/** The behaviour of one attacker. */
export interface Attack {
  /** How long the attack lasts at least. */
  readonly seconds: number;
  readonly connections: number;
  /** All connections send these blocks in rotation. */
  readonly blocks: readonly Block[];
  /**
   * `in turn` sends a block once the previous block has responses. `always` sends as fast as the
   * service reads.
   */
  readonly sending: 'nothing' | 'once' | 'in turn' | 'always' | 'a byte a second';
  /** `slowly` reads 1024 bytes per second. */
  readonly reading: 'everything' | 'nothing' | 'slowly';
  /** Whether the attacker closes a connection at once. By default, at the end of the attack. */
  readonly closing?: 'at once';
  /** Whether the attacker opens a new connection when a connection ends. */
  readonly reopening?: boolean;
  /** The number of bytes that the attacker sends first, before it sends `a byte a second`. */
  readonly begin?: number;
}

/** The shortest duration of most attacks. */
export const SECONDS = 5;

/** The behaviour of most attacks: the attacker sends, waits for the responses, and sends again. */
export const IN_TURN = {
  seconds: SECONDS,
  sending: 'in turn',
  reading: 'everything',
  reopening: true,
} as const;

/** A report of what the attacker sent and received. */
export interface AttackReport {
  readonly opened: number;
  /** The number of connections that ended before the end of the attack. */
  readonly closed: number;
  /** The number of failed attempts to connect. */
  readonly failed: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** The number of responses by status, including incomplete responses. */
  readonly answers: Readonly<Record<string, number>>;
  /** The beginning of the first response with status 500. */
  readonly firstFault?: string;
}

/** An attack in progress. */
interface RunningAttack {
  /** Returns what the attacker has sent and received so far. */
  report(): AttackReport;
  /** Ends the attack. */
  stop(): Promise<void>;
}

/** Attacks the service at `url` from a separate process, until `stop` is called. */
export function startAttack(url: string, attack: Attack): RunningAttack {
  const child = fork(join(import.meta.dirname, 'attacker.mjs'), { execArgv: [] });
  const ended = once(child, 'exit');
  let report: AttackReport = {
    opened: 0,
    closed: 0,
    failed: 0,
    sentBytes: 0,
    receivedBytes: 0,
    answers: {},
  };
  child.on('message', (latest) => (report = latest as AttackReport));
  child.send({ ...attack, url, from: ATTACKER });
  return {
    report: () => report,
    async stop() {
      if (child.connected) child.send('stop');
      await ended;
    },
  };
}

/** Returns the text of a request. Converts `body` to JSON unless it is text. */
export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): string {
  const content =
    body === undefined
      ? undefined
      : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const described =
    content === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(content.length) };
  const lines = Object.entries({ Host: 'dns.example', ...described, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${content?.toString('latin1') ?? ''}`;
}

/** Returns a block for each request. */
export function single(...requests: readonly string[]): Block[] {
  return requests.map((text) => ({ text, requests: 1 }));
}

/** Returns one block with as many of `requests`, in rotation, as fit in `bytes`. */
export function pipelined(bytes: number, ...requests: readonly string[]): Block[] {
  const chosen: string[] = [];
  let size = 0;
  for (let next = 0; ; next += 1) {
    const request = requests[next % requests.length] ?? '';
    size += request.length;
    if (size > bytes) return [{ text: chosen.join(''), requests: chosen.length }];
    chosen.push(request);
  }
}
