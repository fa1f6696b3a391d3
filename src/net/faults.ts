import type { Fault } from '../core/fault.ts';

/**
 * A failure to get a response over the network. Its message is a clause that follows a colon, and
 * never contains the request.
 */
export class NetError extends Error {
  readonly fault: Fault;

  constructor(given: Fault | string, cause?: unknown) {
    const fault = typeof given === 'string' ? { code: '', message: given } : given;
    super(fault.message, { cause });
    this.name = 'NetError';
    this.fault = fault;
  }
}

/** The code of the fault if no authority that the client trusts signed a certificate. */
export const UNTRUSTED = 'untrusted';

/** What replaces the message of an error. Has a code if callers tell it from others. */
type Explanation = Omit<Fault, 'code'> & Partial<Pick<Fault, 'code'>>;

const ACCESS_HINT = 'Run the command as a user who has access.';
const URL_HINT = 'Check the URL: its scheme, its host and its port.';
const PEM_HINT = 'Use a file in PEM format.';
const NOT_TRUSTED: Explanation = {
  code: UNTRUSTED,
  message: "no trusted authority signed the server's certificate",
};
const NO_TLS: Explanation = { message: 'the server does not use TLS on this port', hint: URL_HINT };
const NO_HTTP: Explanation = { message: 'the response is not HTTP', hint: URL_HINT };
const NO_ROUTE: Explanation = {
  message: 'no route to the host',
  hint: 'Check the address and the network.',
};
const CLOSED: Explanation = {
  message: 'the server closed the connection before its response was complete',
  hint: 'Check the scheme of the URL: a server with TLS needs https. Then check the log of the server.',
};

const FAULTS: Readonly<Record<string, Explanation>> = {
  EACCES: { message: 'permission denied', hint: ACCESS_HINT },
  EPERM: { message: 'permission denied', hint: ACCESS_HINT },
  EBUSY: {
    message: 'another program uses the path',
    hint: 'Stop that program, or choose another path.',
  },
  EDQUOT: { message: 'the disk quota is exceeded', hint: 'Free disk space.' },
  EEXIST: { message: 'file already exists', hint: 'Choose another path.' },
  EISDIR: { message: 'the path is a folder, not a file', hint: 'Use the path of a file.' },
  EIO: { message: 'the disk reports an error', hint: 'Check the disk.' },
  ELOOP: { message: 'too many symbolic links', hint: 'Check the path.' },
  EMFILE: {
    message: 'this process has too many open files',
    hint: 'Raise the limit of open files of the process.',
  },
  ENAMETOOLONG: { message: 'the path is too long', hint: 'Choose a shorter path.' },
  ENFILE: {
    message: 'this machine has too many open files',
    hint: 'Raise the limit of open files of the machine.',
  },
  ENOENT: { message: 'no such file or folder', hint: 'Check the path.' },
  ENOSPC: { message: 'the disk is full', hint: 'Free disk space.' },
  ENOTDIR: { message: 'a part of the path is not a folder', hint: 'Check the path.' },
  ENOTREG: {
    message: 'the path is a pipe or a device, not a file',
    hint: 'Use the path of a file.',
  },
  EROFS: { message: 'the file system is read-only' },
  EADDRINUSE: {
    message: 'address already in use',
    hint: 'Stop the program that uses the address, or choose another address or port.',
  },
  EADDRNOTAVAIL: {
    message: 'this machine does not have the address',
    hint: 'Choose an address of this machine.',
  },
  EAI_AGAIN: {
    message: 'the host name cannot be resolved now',
    hint: 'Check the host name, and the DNS resolver of this machine.',
  },
  EAI_FAIL: {
    message: 'the host name cannot be resolved',
    hint: 'Check the host name, and the DNS resolver of this machine.',
  },
  ECONNABORTED: CLOSED,
  ECONNREFUSED: { message: 'nothing listens at the address' },
  ECONNRESET: CLOSED,
  EHOSTDOWN: NO_ROUTE,
  EHOSTUNREACH: NO_ROUTE,
  ENETDOWN: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  ENOTFOUND: { message: 'the host name does not resolve', hint: 'Check the host name.' },
  EPIPE: CLOSED,
  EPROTO: NO_TLS,
  ETIMEDOUT: { message: 'the server does not respond' },
  CERT_HAS_EXPIRED: {
    message: "the server's certificate has expired",
    hint: 'Renew the certificate of the server.',
  },
  CERT_NOT_YET_VALID: {
    message: "the server's certificate is not valid yet",
    hint: 'Check the clocks of this machine and of the server.',
  },
  CERT_SIGNATURE_FAILURE: NOT_TRUSTED,
  CERT_UNTRUSTED: NOT_TRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: NOT_TRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NOT_TRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NOT_TRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID: {
    message: "the server's certificate is for another host",
    hint: 'Use a host name that the certificate contains.',
  },
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: {
    message: 'the key does not belong to the certificate',
    hint: 'Use the key that the certificate was issued for.',
  },
};

const FAMILIES: readonly (readonly [codes: RegExp, fault: Explanation])[] = [
  [/^CERT_/, { message: "the server's certificate is not valid" }],
  [/^ERR_SSL_/, { message: 'the TLS handshake failed', hint: URL_HINT }],
  [/^ERR_OSSL_/, { message: 'no usable certificate or key was found', hint: PEM_HINT }],
  [/^HPE_/, NO_HTTP],
];

/** Returns an empty text for an error without a code, and for any other value. */
export function codeOf(error: unknown): string {
  const hasCode = error instanceof Error && 'code' in error && typeof error.code === 'string';
  return hasCode ? String(error.code) : '';
}

/** Returns the message of an error. Returns an empty text for any other value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

/** Returns the fault of an error: an explanation of its code, or else its message. */
export function faultOf(error: unknown): Fault {
  if (error instanceof NetError) return error.fault;
  const code = codeOf(error);
  if (!(error instanceof Error)) return { code, message: String(error) };
  // A connection to a host with several addresses fails with one error for each address.
  if (error instanceof AggregateError && error.errors.length > 0) {
    const faults = error.errors.map(faultOf);
    const messages = new Set(faults.map(({ message }) => message));
    return { code, ...faults[0], message: [...messages].join(', ') };
  }
  const explanation = Object.hasOwn(FAULTS, code)
    ? FAULTS[code]
    : FAMILIES.find(([codes]) => codes.test(code))?.[1];
  return { code, ...(explanation ?? { message: error.message || code }) };
}

/** The beginning of a message about a path or an address, by the system call that failed. */
const FAILURES: Readonly<Record<string, (place: string) => string>> = {
  bind: (place) => `Cannot listen on ${place}`,
  connect: (place) => `${place} cannot be reached`,
  mkdtemp: (place) => `${place.replace('.partial-XXXXXX', '')} cannot be created`,
  listen: (place) => `Cannot listen on ${place}`,
  mkdir: (place) => `${place} cannot be created`,
  open: (place) => `${place} cannot be opened`,
};

/** Returns the fault of any error. Its message begins with the path or address, if known. */
export function placedFault(error: unknown): Fault {
  const fault = faultOf(error);
  if (!(error instanceof Error)) return fault;
  const {
    code,
    syscall,
    path,
    address,
    port,
  }: NodeJS.ErrnoException & { address?: string; port?: number } = error;
  const host = address?.includes(':') === true ? `[${address}]` : address;
  const place = port === undefined ? (path ?? address) : `${host}:${port}`;
  if (code === undefined || syscall === undefined || place === undefined) return fault;
  const failure = FAILURES[syscall]?.(`'${place}'`) ?? `'${place}' cannot be used`;
  return { ...fault, message: `${failure}: ${fault.message}` };
}

export function describeFault(error: unknown): string {
  return placedFault(error).message;
}
