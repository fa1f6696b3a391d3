import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { CommandError, EXIT } from './errors.ts';

/** Which certificates are believed. */
export interface Trust {
  /** PEM certificates of the authorities, instead of those that everybody trusts. */
  readonly ca?: string | undefined;
  /** False where a cloud's settings say that certificates are not to be checked. */
  readonly verify?: boolean | undefined;
}

/** One request over HTTP. */
export interface Question {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly trust: Trust;
}

/** What was answered. */
export interface HttpAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly text: string;
  /** A header's value; names are in lower case. */
  header(name: string): string | undefined;
}

const TIMEOUT_SECONDS = 30;

/**
 * Sends one request and reads the answer. A redirect is not followed: it would take the token to another server. Throws
 * `CommandError` when `server`, as the message calls it, does not answer; `hint` says what to do then.
 */
export async function exchange(question: Question, server: string, hint: string): Promise<HttpAnswer> {
  try {
    const answer = await send(question);
    const { statusCode = 0, statusMessage = '', headers } = answer;
    const header = (name: string) => headers[name]?.toString();
    return { status: statusCode, statusText: statusMessage, text: await text(answer), header };
  } catch (cause) {
    const isUntrusted = /certificate|CERT_|ALTNAME/.test(String((cause as NodeJS.ErrnoException).code) + (cause as Error).message);
    const advice = isUntrusted ? 'Name the certificate of its authority with --cacert.' : hint;
    throw new CommandError(EXIT.unreachable, `${server} cannot be reached: ${reasonOf(cause)}`, advice, cause);
  }
}

function send({ method, url, headers, body, trust }: Question): Promise<IncomingMessage> {
  const start = url.startsWith('https:') ? requestHttps : requestHttp;
  const options = {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }) },
    signal: AbortSignal.timeout(TIMEOUT_SECONDS * 1000),
    ...(trust.ca === undefined ? {} : { ca: trust.ca }),
    ...(trust.verify === false ? { rejectUnauthorized: false } : {}),
  };
  return new Promise((resolve, reject) => {
    start(url, options, resolve).on('error', reject).end(body);
  });
}

/** A host with several addresses fails with an error for each. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError) return [...new Set(cause.errors.map(reasonOf))].join(', ');
  const { name, message } = cause as Error;
  return name === 'AbortError' ? `no answer within ${TIMEOUT_SECONDS} seconds` : message;
}
