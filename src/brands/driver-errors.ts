import { codeOf, NetError } from '../net/faults.ts';
import { DriverError, type DriverErrorCode } from './driver.ts';

/** Error codes of the operating system and TLS for refused access. */
const REFUSALS = /^(?:EACCES|EPERM|CERT_.*|.*SELF_SIGNED.*|UNABLE_TO_.*|ERR_SSL_.*ALERT.*)$/;

/**
 * Runs a request to a control channel or API. Throws `DriverError` for every failure of the
 * connection, and if `signal` aborts. `place` begins the message: "The control channel of BIND".
 */
export async function driverErrors<T>(
  place: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DriverError) throw error;
    if (signal.aborted)
      throw new DriverError(
        'timeout',
        `${place} did not respond in time.`,
        'Check that the name server runs and is not overloaded.',
        error,
      );
    if (!(error instanceof NetError)) throw error;
    const code = codeOf(error.cause);
    const kind: DriverErrorCode = REFUSALS.test(code) ? 'not_permitted' : 'unreachable';
    throw new DriverError(
      kind,
      `${place} cannot be used: ${error.message}.`,
      kind === 'not_permitted'
        ? 'Give the user of this process access, and check the certificates.'
        : 'Check that the name server runs and that the address is correct.',
      error,
    );
  }
}
