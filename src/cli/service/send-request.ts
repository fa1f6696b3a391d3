import { deadlineAfter, type Deadline } from '../../net/deadline.ts';
import { NetError, UNTRUSTED } from '../../net/faults.ts';
import {
  createHttpClient,
  type HttpRequest,
  type HttpResponse,
  type OpenResponse,
  type Trust,
} from '../../net/http.ts';
import { CommandError, EXIT } from '../output/command-error.ts';

export interface ServerDescription {
  /** For example, `The identity service 'https://…'`. */
  readonly name: string;
  /** What to do if the server cannot be reached. */
  readonly hint: string;
}

const TIMEOUT_SECONDS = 30;

/**
 * The maximum size of a response. The largest expected response has less than 20 MB, for a list of
 * 20,000 entries.
 */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/**
 * Sends a request once and reads the response. Throws `CommandError` if the server does not respond
 * within `timeoutSeconds`.
 */
export async function sendRequest(
  request: HttpRequest,
  trust: Trust,
  server: ServerDescription,
  timeoutSeconds = TIMEOUT_SECONDS,
): Promise<HttpResponse> {
  const client = createHttpClient({ trust, maxResponseBytes: MAX_RESPONSE_BYTES, attempts: 1 });
  return withServer(server, (deadline) => client.send(request, deadline), timeoutSeconds);
}

/** Sends a request once, for a body of any length. Throws `CommandError` like `sendRequest`. */
export async function openRequest(
  request: HttpRequest,
  trust: Trust,
  server: ServerDescription,
  timeoutSeconds = TIMEOUT_SECONDS,
): Promise<OpenResponse> {
  const client = createHttpClient({ trust, maxResponseBytes: MAX_RESPONSE_BYTES, attempts: 1 });
  return withServer(server, (deadline) => client.open(request, deadline), timeoutSeconds);
}

/**
 * Runs `work`, which sends requests to a server, for at most `timeoutSeconds`. Throws
 * `CommandError` if the server does not respond.
 */
async function withServer<T>(
  { name, hint }: ServerDescription,
  work: (deadline: Deadline) => Promise<T>,
  timeoutSeconds: number,
): Promise<T> {
  try {
    return await work(deadlineAfter(timeoutSeconds));
  } catch (cause) {
    if (!(cause instanceof NetError)) throw cause;
    const { code, message, hint: faultHint = hint } = cause.fault;
    const nextStep =
      code === UNTRUSTED
        ? 'Use --cacert with the CA certificate that signed the certificate of the server.'
        : faultHint;
    throw new CommandError(
      EXIT.unreachable,
      `${name} cannot be reached: ${message}`,
      nextStep,
      cause,
    );
  }
}
