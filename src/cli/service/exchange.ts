import { deadlineAfter, type Deadline } from '../../net/deadline.ts';
import { NetError } from '../../net/faults.ts';
import { createHttpClient, type HttpRequest, type HttpResponse, type Trust } from '../../net/http.ts';
import { CommandError, EXIT } from '../output/errors.ts';

/** What messages say of a server. */
export interface ServerWords {
  /** What it is called: `The identity service 'https://…'`. */
  readonly name: string;
  /** What to try when it cannot be reached. */
  readonly hint: string;
}

const TIMEOUT_SECONDS = 30;

/** The most bytes of a response. The longest comes from a list of 20,000 entries, and has less than 20 MB. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Sends one request once, and reads the response. Throws `CommandError` when the server does not respond within 30 s. */
export async function exchange(request: HttpRequest, trust: Trust, server: ServerWords): Promise<HttpResponse> {
  const client = createHttpClient({ trust, maxResponseBytes: MAX_RESPONSE_BYTES, attempts: 1 });
  return reach(server, (deadline) => client.send(request, deadline));
}

/** Runs work with a server within 30 s. Throws `CommandError` when the server does not respond. */
export async function reach<T>({ name, hint }: ServerWords, work: (deadline: Deadline) => Promise<T>): Promise<T> {
  try {
    return await work(deadlineAfter(TIMEOUT_SECONDS));
  } catch (cause) {
    if (!(cause instanceof NetError)) throw cause;
    const { reason, untrusted = false, hint: faultHint = hint } = cause.fault;
    const advice = untrusted ? 'Name the certificate of its authority with --cacert.' : faultHint;
    throw new CommandError(EXIT.unreachable, `${name} cannot be reached: ${reason}`, advice, cause);
  }
}
