import { recordSecret, recordShown } from './evidence.ts';

/** A response of the service. `body` is the parsed JSON, or undefined for other media types. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Tests read any member of any response, and their expectations check the values.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

/**
 * A client that sends requests to one service with one token. It records errors, metrics, secrets
 * and tokens. A test at the end of the run searches the output for the secrets.
 */
export interface Client {
  readonly url: string;
  readonly token: string;
  /** The environment variables with which a command uses the service with this token. */
  readonly variables: Record<string, string>;
  /** Sends `body` as JSON, or unchanged if it is text or bytes. The default media type is JSON. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiResponse>;
  get(path: string, headers?: Record<string, string>): Promise<ApiResponse>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
  patch(path: string, body: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
  delete(path: string, headers?: Record<string, string>): Promise<ApiResponse>;
  /** Returns a client of the same service with another token. */
  with(token: string): Client;
}

export function createClient(url: string, token: string): Client {
  recordSecret(token);
  const call: Client['call'] = async (method, path, body, headers = {}) => {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    noteSecrets(body);
    const response = await fetch(url + path, {
      method,
      headers: {
        'x-auth-token': token,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
    });
    const text = await response.text();
    await endOfTurn();
    const isJson =
      response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
    const parsed: unknown = isJson ? JSON.parse(text) : undefined;
    if (response.status >= 400) recordShown('error', text);
    else if (path === '/metrics') recordShown('metrics', text);
    else noteSecrets(parsed);
    return { status: response.status, headers: response.headers, text, body: parsed };
  };
  return {
    url,
    token,
    variables: { TSIGIL_URL: url, TSIGIL_TOKEN: token },
    call,
    get: (path, headers) => call('GET', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    patch: (path, body, headers) => call('PATCH', path, body, headers),
    delete: (path, headers) => call('DELETE', path, undefined, headers),
    with: (other) => createClient(url, other),
  };
}

/**
 * Waits for the end of the current turn of the event loop. By then, a service in this process has
 * logged and counted the request.
 */
export function endOfTurn(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}

function noteSecrets(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  for (const [name, member] of Object.entries(value)) {
    if (name === 'secret' || name === 'token') recordSecret(member);
    else noteSecrets(member);
  }
}
