import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Stands for 12 hexadecimal digits that were not sent before. It has as many characters itself, so that the length of a body stays right. */
export const NEW_WORD = '<a-new-word>';

/** Bytes that an attacker sends at once, and how many requests they are. */
export interface Block {
  readonly text: string;
  readonly requests: number;
}

/** How one client attacks a service. */
export interface Attack {
  readonly seconds: number;
  readonly connections: number;
  /** Sent in turn by all connections. */
  readonly blocks: readonly Block[];
  /** `in turn`: a block, its answers, the next block. `always`: as fast as the service takes them. */
  readonly sending: 'nothing' | 'once' | 'in turn' | 'always' | 'a byte a second';
  /** `slowly` is 1024 bytes a second. */
  readonly reading: 'everything' | 'nothing' | 'slowly';
  /** When the attacker closes a connection by itself. */
  readonly closing?: 'after the answer' | 'at once';
  /** Whether a connection that ends is replaced. */
  readonly reopening?: boolean;
  /** For `a byte a second`: how many bytes are sent at once at the beginning. */
  readonly begin?: number;
}

/** What an attacker did, and what it got. */
export interface AttackReport {
  readonly opened: number;
  /** Connections that ended before the end of the attack. */
  readonly closed: number;
  /** Attempts to connect that failed. */
  readonly failed: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** How many answers of each status began. */
  readonly answers: Readonly<Record<string, number>>;
  /** The beginning of the first answer with status 500. */
  readonly firstFault?: string;
}

/** The address that attackers connect from; other callers connect from 127.0.0.1. */
const ATTACKER_ADDRESS = '127.0.0.2';

/** Attacks the service at `url` from a process of its own; resolves when the attack is over. */
export async function runAttack(url: string, attack: Attack): Promise<AttackReport> {
  const child = fork(join(import.meta.dirname, 'attacker.mjs'), { execArgv: [] });
  child.send({ ...attack, url, from: ATTACKER_ADDRESS });
  const [report] = (await once(child, 'message')) as [AttackReport];
  return report;
}

/** The bytes of one request. A `body` is sent as JSON, unless it is text already. */
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

/** One request a block. */
export function single(...requests: readonly string[]): Block[] {
  return requests.map((text) => ({ text, requests: 1 }));
}

/** As many requests as `bytes` hold, in turn those of `requests`. */
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
