import { connect } from 'node:net';

/** The time in milliseconds that a connection may be idle. */
const TIMEOUT_MS = 60_000;

/** A received response. Header names are in lower case. */
export interface WireResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Sends raw bytes, for requests that no HTTP client would send. Reads until the service closes the
 * connection. Rejects if the connection is idle for 60 s, so include `Connection: close` in valid
 * requests.
 */
export function sendBytes(
  url: string,
  ...chunks: readonly (string | Uint8Array)[]
): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(Number(port), hostname, () => {
      for (const chunk of chunks) socket.write(chunk);
    });
    socket.setEncoding('utf8');
    socket.setTimeout(TIMEOUT_MS, () => {
      socket.destroy();
      reject(new Error(`The service hangs; so far it answered: ${received}`));
    });
    socket.on('data', (text: string) => (received += text));
    // The service may refuse a request and close the connection before the whole request is sent.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
  });
}

/**
 * Sends one request on a new connection. `head` has the request line and the headers, without
 * `Connection` and the blank line.
 */
export async function sendRequest(
  url: string,
  head: readonly string[],
  body: string | Uint8Array = '',
): Promise<WireResponse> {
  return parseResponse(
    await sendBytes(url, `${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n`, body),
  );
}

/** Parses the last response in `text`. A `100 Continue` may come before the response. */
export function parseResponse(text: string): WireResponse {
  const final = text.replace(/^(?:HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n)+/, '');
  const [head = '', ...rest] = final.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: new Map(headers),
    body: rest.join('\r\n\r\n'),
  };
}

/** Parses all responses in `text`, in order. Each response must have a `Content-Length`. */
export function parseResponses(text: string): WireResponse[] {
  const responses = [];
  for (let rest = text; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n') + 4;
    const { status, headers } = parseResponse(rest.slice(0, end));
    const length = Number(headers.get('content-length'));
    responses.push({ status, headers, body: rest.slice(end, end + length) });
    rest = rest.slice(end + length);
  }
  return responses;
}

/** Returns the statuses of all responses in `text`. */
export function statusesOf(text: string): number[] {
  return parseResponses(text).map(({ status }) => status);
}

/** Returns whether a response is the last on its connection. */
export function isClosing({ headers }: WireResponse): boolean {
  return headers.get('connection') === 'close';
}
