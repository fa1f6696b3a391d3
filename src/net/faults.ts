/** The reason why a file or a server cannot be used, for messages. */
export interface Fault {
  /** A clause that follows a colon, such as `no such file or folder`. */
  readonly reason: string;
  /** What to do next, as a sentence. */
  readonly hint?: string;
  /** True if the server's certificate was not signed by an authority that the client trusts. */
  readonly untrusted?: boolean;
}

/**
 * A failure to get a response over the network. The message of the error is the fault's reason, and
 * never contains the request.
 */
export class NetError extends Error {
  readonly fault: Fault;

  constructor(fault: Fault, cause?: unknown) {
    super(fault.reason, { cause });
    this.name = 'NetError';
    this.fault = fault;
  }
}

const ACCESS_HINT = 'Run the command as a user who has access.';
const URL_HINT = 'Check the URL: its scheme, its host and its port.';
const PEM_HINT = 'Use a file in PEM format.';
const UNTRUSTED: Fault = {
  reason: "no trusted authority signed the server's certificate",
  untrusted: true,
};
const NO_TLS: Fault = { reason: 'the server does not use TLS on this port', hint: URL_HINT };
const NO_HTTP: Fault = { reason: 'the response is not HTTP', hint: URL_HINT };
const NO_ROUTE: Fault = {
  reason: 'no route to the host',
  hint: 'Check the address and the network.',
};
const CLOSED: Fault = {
  reason: 'the server closed the connection before its response was complete',
  hint: 'Check the scheme of the URL: a server with TLS needs https. Then check the log of the server.',
};

const FAULTS: Readonly<Record<string, Fault>> = {
  EACCES: { reason: 'permission denied', hint: ACCESS_HINT },
  EPERM: { reason: 'permission denied', hint: ACCESS_HINT },
  EBUSY: {
    reason: 'another program uses the path',
    hint: 'Stop that program, or choose another path.',
  },
  EDQUOT: { reason: 'the disk quota is exceeded', hint: 'Free disk space.' },
  EEXIST: { reason: 'file already exists', hint: 'Choose another path.' },
  EISDIR: { reason: 'the path is a folder, not a file', hint: 'Use the path of a file.' },
  EIO: { reason: 'the disk reports an error', hint: 'Check the disk.' },
  ELOOP: { reason: 'too many symbolic links', hint: 'Check the path.' },
  EMFILE: {
    reason: 'this process has too many open files',
    hint: 'Raise the limit of open files of the process.',
  },
  ENAMETOOLONG: { reason: 'the path is too long', hint: 'Choose a shorter path.' },
  ENFILE: {
    reason: 'this machine has too many open files',
    hint: 'Raise the limit of open files of the machine.',
  },
  ENOENT: { reason: 'no such file or folder', hint: 'Check the path.' },
  ENOSPC: { reason: 'the disk is full', hint: 'Free disk space.' },
  ENOTDIR: { reason: 'a part of the path is not a folder', hint: 'Check the path.' },
  ENOTREG: {
    reason: 'the path is a pipe or a device, not a file',
    hint: 'Use the path of a file.',
  },
  EROFS: { reason: 'the file system is read-only' },
  EADDRINUSE: {
    reason: 'address already in use',
    hint: 'Stop the program that uses the address, or choose another address or port.',
  },
  EADDRNOTAVAIL: {
    reason: 'this machine does not have the address',
    hint: 'Choose an address of this machine.',
  },
  EAI_AGAIN: {
    reason: 'the host name cannot be resolved now',
    hint: 'Check the host name, and the DNS resolver of this machine.',
  },
  EAI_FAIL: {
    reason: 'the host name cannot be resolved',
    hint: 'Check the host name, and the DNS resolver of this machine.',
  },
  ECONNABORTED: CLOSED,
  ECONNREFUSED: { reason: 'nothing listens at the address' },
  ECONNRESET: CLOSED,
  EHOSTDOWN: NO_ROUTE,
  EHOSTUNREACH: NO_ROUTE,
  ENETDOWN: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  ENOTFOUND: { reason: 'the host name does not resolve', hint: 'Check the host name.' },
  EPIPE: CLOSED,
  EPROTO: NO_TLS,
  ETIMEDOUT: { reason: 'the server does not respond' },
  CERT_HAS_EXPIRED: {
    reason: "the server's certificate has expired",
    hint: 'Renew the certificate of the server.',
  },
  CERT_NOT_YET_VALID: {
    reason: "the server's certificate is not valid yet",
    hint: 'Check the clocks of this machine and of the server.',
  },
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID: {
    reason: "the server's certificate is for another host",
    hint: 'Use a host name that the certificate contains.',
  },
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: {
    reason: 'the key does not belong to the certificate',
    hint: 'Use the key that the certificate was issued for.',
  },
};

const FAMILIES: readonly (readonly [codes: RegExp, fault: Fault])[] = [
  [/^CERT_/, { reason: "the server's certificate is not valid" }],
  [/^ERR_SSL_/, { reason: 'the TLS handshake failed', hint: URL_HINT }],
  [/^ERR_OSSL_/, { reason: 'no usable certificate or key was found', hint: PEM_HINT }],
  [/^HPE_/, NO_HTTP],
];

/**
 * Returns the code of an error of Node.js, the operating system or a library. Returns an empty text
 * for an error without a code, and for any other value.
 */
export function codeOf(error: unknown): string {
  const hasCode = error instanceof Error && 'code' in error && typeof error.code === 'string';
  return hasCode ? String(error.code) : '';
}

/** Returns the message of an error. Returns an empty text for any other value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

/** Returns the reason of an error, and a hint if known. The default reason is its message. */
export function faultOf(error: unknown): Fault {
  if (error instanceof NetError) return error.fault;
  if (!(error instanceof Error)) return { reason: String(error) };
  const code = codeOf(error);
  // A connection to a host with several addresses fails with one error for each address.
  if (error instanceof AggregateError && error.errors.length > 0) {
    const faults = error.errors.map(faultOf);
    return { ...faults[0], reason: [...new Set(faults.map(({ reason }) => reason))].join(', ') };
  }
  if (code === '') return { reason: error.message };
  const known = Object.hasOwn(FAULTS, code)
    ? FAULTS[code]
    : FAMILIES.find(([codes]) => codes.test(code))?.[1];
  return known ?? { reason: error.message || code };
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

/** Returns the fault of any error. The reason begins with the path or address of the error, if known. */
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
  return { ...fault, reason: `${failure}: ${fault.reason}` };
}

/** Returns the reason of `placedFault`, for a message. */
export function describeFault(error: unknown): string {
  return placedFault(error).reason;
}
