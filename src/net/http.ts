import {
  Agent as HttpAgent,
  request as requestHttp,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { within, type Deadline } from './deadline.ts';
import { faultOf, NetError } from './faults.ts';

export interface Trust {
  /** PEM certificates of the trusted CAs. These certificates replace the CAs of Node.js. */
  readonly ca?: string | undefined;
}

interface HttpSettings {
  readonly trust: Trust;
  readonly maxResponseBytes: number;
  /** The maximum number of times that the client sends a repeatable request. */
  readonly attempts: number;
  /**
   * The maximum number of connections to a server; further requests wait. By default, the client
   * uses Node's global agent.
   */
  readonly maxConnections?: number;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /**
   * True if the client may repeat the request. The client may always repeat GET and HEAD (RFC 9110
   * section 9.2.1).
   */
  readonly repeatable?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  readonly statusText: string;
  readonly text: string;
  /** Returns the value of a header. `name` must be in lower case. */
  header(name: string): string | undefined;
}

interface OpenResponse extends Omit<HttpResponse, 'text'> {
  text(): Promise<string>;
  /**
   * Yields the lines of the body in parts, however long it is. Throws `NetError` if the body stops
   * or ends early.
   */
  lines(): AsyncGenerator<readonly string[]>;
}

export interface HttpClient {
  /**
   * Sends a request and reads the whole response. Does not follow redirects, because another server
   * would receive the token. Repeats a repeatable request after a failure, 429 or 5xx. Throws
   * `NetError` if there is no response within the deadline.
   */
  send(request: HttpRequest, deadline: Deadline): Promise<HttpResponse>;
  /** Sends a request once. Throws `NetError` if no response begins within the deadline. */
  open(request: HttpRequest, deadline: Deadline): Promise<OpenResponse>;
  /** Closes the client's own connections. */
  close(): void;
}

const FIRST_PAUSE_MS = 100;

export function createHttpClient({
  trust,
  maxResponseBytes,
  attempts,
  maxConnections,
}: HttpSettings): HttpClient {
  const tls = trust.ca === undefined ? {} : { ca: trust.ca };
  const pool = {
    keepAlive: true,
    ...(maxConnections === undefined ? {} : { maxSockets: maxConnections }),
  };
  const agents =
    maxConnections === undefined
      ? undefined
      : { http: new HttpAgent(pool), https: new (https().Agent)({ ...pool, ...tls }) };
  const begin = async (request: HttpRequest, signal?: AbortSignal) => {
    const secure = request.url.startsWith('https:');
    const agent = secure ? agents?.https : agents?.http;
    const options = {
      ...(secure ? tls : {}),
      ...(agent === undefined ? {} : { agent }),
      ...(signal === undefined ? {} : { signal }),
    };
    const incoming = await start(secure ? https().request : requestHttp, request, options);
    const { statusCode: status = 0, statusMessage: statusText = '', headers } = incoming;
    const header = (name: string) => headers[name]?.toString();
    return { incoming, head: { status, statusText, header } };
  };
  const sendOnce = async (request: HttpRequest, { signal }: Deadline): Promise<HttpResponse> => {
    const { incoming, head } = await begin(request, signal);
    return { ...head, text: await readBody(incoming, maxResponseBytes) };
  };
  return {
    async open(request, deadline) {
      const { incoming, head } = await within(deadline, begin(request)).catch(asNetError);
      const { seconds } = deadline;
      incoming.setTimeout(seconds * 1000, () =>
        incoming.destroy(new NetError(`no data within ${seconds} seconds`)),
      );
      return {
        ...head,
        text: () => readBody(incoming, maxResponseBytes).catch(asNetError),
        lines: () => linesOf(incoming),
      };
    },
    async send(request, deadline) {
      const most =
        request.repeatable === true || ['GET', 'HEAD'].includes(request.method) ? attempts : 1;
      for (let attempt = 1; ; attempt += 1) {
        try {
          // Node.js ignores the signal of a request that waits for a connection.
          const response = await within(deadline, sendOnce(request, deadline));
          if (attempt >= most || !isTemporary(response)) return response;
        } catch (error) {
          if (attempt >= most || deadline.signal.aborted) asNetError(error);
        }
        // The random part prevents many processes from retrying at the same time.
        await within(deadline, pause(FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random())));
      }
    },
    close() {
      agents?.http.destroy();
      agents?.https.destroy();
    },
  };
}

/** Loads TLS only if a request needs it, because it delays the start of every command. */
function https() {
  return process.getBuiltinModule('node:https');
}

function asNetError(error: unknown): never {
  throw error instanceof NetError ? error : new NetError(faultOf(error), error);
}

async function* linesOf(incoming: IncomingMessage): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (lines.length > 0) yield lines;
    }
  } catch (error) {
    asNetError(error);
  }
  if (rest !== '') yield [rest];
}

function isTemporary({ status }: HttpResponse): boolean {
  return status >= 500 || status === 429;
}

function start(
  send: typeof requestHttp,
  { method, url, headers, body }: HttpRequest,
  options: RequestOptions,
): Promise<IncomingMessage> {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    send(url, { ...options, method, headers: { ...headers, ...length } }, resolve)
      .on('error', reject)
      .end(body);
  });
}

async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new NetError(`the response has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** Returns the value of a JSON text; undefined for any other text, and for `null`. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}
