import { isObject } from '../core/field.ts';
import type { Deadline } from '../net/deadline.ts';
import { createHttpClient, parseJson, type HttpRequest, type Trust } from '../net/http.ts';

export interface KeystoneResponse {
  readonly status: number;
  readonly subjectToken: string | undefined;
  /** The parsed body; undefined if the body is not JSON. */
  readonly body: unknown;
}

/**
 * A client of Keystone's API, version 3. All requests throw `NetError` if there is no response
 * within the deadline.
 */
export interface KeystoneApi {
  readonly url: string;
  /** Requests a token. `auth` is the member of the request body. */
  issueToken(auth: object, deadline: Deadline): Promise<KeystoneResponse>;
  /** Validates `token`, with the rights of the token `authority`. */
  describeToken(token: string, authority: string, deadline: Deadline): Promise<KeystoneResponse>;
  close(): void;
}

/**
 * The maximum number of concurrent requests, because Keystone can become overloaded. Further
 * requests wait in the client.
 */
const MAX_CONNECTIONS = 32;
const ATTEMPTS = 3;
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** Creates a client of the Keystone API at `url`, which may end with `/v3`. */
export function createKeystoneApi(url: string, trust: Trust): KeystoneApi {
  const base = `${url.replace(/\/+$/, '').replace(/\/v3$/, '')}/v3`;
  const client = createHttpClient({
    trust,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    attempts: ATTEMPTS,
    maxConnections: MAX_CONNECTIONS,
  });
  const send = async (request: HttpRequest, deadline: Deadline) => {
    const { status, text, header } = await client.send(request, deadline);
    return {
      status,
      subjectToken: header('x-subject-token'),
      body: parseJson(text),
    };
  };
  return {
    url: base,
    issueToken(auth, deadline) {
      const headers = { accept: 'application/json', 'content-type': 'application/json' };
      // Repeating the request is safe: an unused token expires.
      return send(
        {
          method: 'POST',
          url: `${base}/auth/tokens`,
          headers,
          body: JSON.stringify({ auth }),
          repeatable: true,
        },
        deadline,
      );
    },
    describeToken(token, authority, deadline) {
      const headers = {
        accept: 'application/json',
        'x-auth-token': authority,
        'x-subject-token': token,
      };
      // `nocatalog` omits the service catalogue, because the client does not use this long list.
      return send({ method: 'GET', url: `${base}/auth/tokens?nocatalog`, headers }, deadline);
    },
    close: client.close,
  };
}

/** Returns Keystone's own error; undefined for any other response, such as a proxy's response. */
export function keystoneError({
  body,
}: KeystoneResponse): Readonly<Record<string, unknown>> | undefined {
  const error = isObject(body) ? body.error : undefined;
  return isObject(error) ? error : undefined;
}
