import { deadlineAfter, type Deadline } from '../../net/deadline.ts';
import { NetError, UNTRUSTED } from '../../net/faults.ts';
import { createHttpClient, type HttpClient, type Trust } from '../../net/http.ts';
import { CommandError, EXIT } from '../output/command-error.ts';

export interface Server {
  /** For example, `PowerDNS at 'http://…'`. */
  readonly name: string;
  /** What to do if the server cannot be reached. */
  readonly hint: string;
  readonly trust?: Trust | undefined;
}

const TIMEOUT_SECONDS = 30;

/** The largest expected response has less than 20 MB, for a list of 20,000 entries. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Sends a server one request. Throws `CommandError` if it does not respond in time. */
export async function reach<T>(
  { name, hint, trust = {} }: Server,
  send: (client: HttpClient, deadline: Deadline) => Promise<T>,
): Promise<T> {
  const client = createHttpClient({ trust, maxResponseBytes: MAX_RESPONSE_BYTES, attempts: 1 });
  try {
    return await send(client, deadlineAfter(TIMEOUT_SECONDS));
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
