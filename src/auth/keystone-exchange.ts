import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { ServiceError } from '../domain/errors.ts';

/** One request to Keystone, by its path below the base URL. */
export interface Question {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
}

/** What Keystone answered. */
export interface Answer {
  readonly status: number;
  /** The header that carries a new token. */
  readonly subjectToken: string | undefined;
  /** The parsed body; undefined where it is not JSON. */
  readonly body: unknown;
}

/** The way to one Keystone. */
export interface Exchange {
  /** Throws `unavailable` when Keystone cannot be reached, takes too long, or answers with 429, 500 or above. */
  ask(question: Question): Promise<Answer>;
  close(): void;
}

/** How often a question is put before it is given up, and the first pause in between, which doubles each time. */
const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 100;

/** Keystone serves few requests at once; those beyond wait here. */
const MAX_CONNECTIONS = 32;

const MAX_ANSWER_BYTES = 1024 * 1024;
const RETRY_AFTER_SECONDS = 5;

/** The refusal for every trouble with Keystone. `reason` goes to the log and holds no token. */
export function keystoneUnavailable(reason: string): ServiceError {
  const message = 'The token cannot be checked now: the identity service does not answer as it should';
  return new ServiceError('unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: new Error(`Keystone: ${reason}`) });
}

/** The way to the Keystone at `url`, with or without `/v3`. Throws Node's errors when `caFile` cannot be read. */
export function createExchange(url: string, settings: { readonly caFile: string | undefined; readonly timeoutSeconds: number }): Exchange {
  const { caFile, timeoutSeconds } = settings;
  const base = url.replace(/\/+$/, '').replace(/\/v3$/, '');
  const pool = { keepAlive: true, maxSockets: MAX_CONNECTIONS };
  const secure = new URL(url).protocol === 'https:';
  const agent = secure ? new HttpsAgent({ ...pool, ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }) }) : new HttpAgent(pool);
  const send = secure ? httpsRequest : httpRequest;
  return {
    async ask(question) {
      const deadline = AbortSignal.timeout(timeoutSeconds * 1000);
      for (let attempt = 1; ; attempt += 1) {
        const result = await attemptOnce(send, `${base}${question.path}`, question, { agent, signal: deadline });
        if (typeof result !== 'string') return result;
        if (deadline.aborted) throw keystoneUnavailable(`no answer within ${timeoutSeconds} seconds`);
        if (attempt === ATTEMPTS) throw keystoneUnavailable(result);
        // The random part keeps many processes from coming back all at once.
        await pause(FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
      }
    },
    close: () => agent.destroy(),
  };
}

/** The answer, or in words why there is none. Node's errors do not go on: some hold more than their message. */
async function attemptOnce(send: typeof httpRequest, url: string, question: Question, options: RequestOptions): Promise<Answer | string> {
  try {
    const answer = await exchangeOnce(send, url, question, options);
    return answer.status >= 500 || answer.status === 429 ? `answered ${answer.status}` : answer;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return message === '' ? (code ?? 'failed') : message;
  }
}

function exchangeOnce(send: typeof httpRequest, url: string, question: Question, options: RequestOptions): Promise<Answer> {
  const body = question.body === undefined ? undefined : JSON.stringify(question.body);
  const headers = {
    ...question.headers,
    accept: 'application/json',
    ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = send(url, { ...options, method: question.method, headers }, (incoming) => {
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on('data', (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > MAX_ANSWER_BYTES) incoming.destroy(new Error('the answer is too long'));
      });
      incoming.on('error', reject);
      incoming.on('end', () => {
        const subjectToken = incoming.headers['x-subject-token'];
        const token = typeof subjectToken === 'string' ? subjectToken : undefined;
        resolve({ status: incoming.statusCode ?? 0, subjectToken: token, body: parseJson(Buffer.concat(chunks).toString()) });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
