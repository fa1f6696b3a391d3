export const ALGORITHM_NAMES = [
  'hmac-md5',
  'hmac-sha1',
  'hmac-sha224',
  'hmac-sha256',
  'hmac-sha384',
  'hmac-sha512',
] as const;

export type AlgorithmName = (typeof ALGORITHM_NAMES)[number];

export function isAlgorithm(text: string): text is AlgorithmName {
  return (ALGORITHM_NAMES as readonly string[]).includes(text);
}

/** The properties of a TSIG algorithm. */
interface Algorithm {
  /** The octets of the hash output. Secrets should be at least as long (RFC 2104 section 3). */
  readonly hashOctets: number;
  /**
   * Why the algorithm should not be used for new keys (RFC 8945 section 6). Absent for an algorithm
   * that is recommended.
   */
  readonly weakness?: string;
}

export const ALGORITHMS: Readonly<Record<AlgorithmName, Algorithm>> = {
  'hmac-md5': { hashOctets: 16, weakness: 'must not be used (RFC 8945 section 6)' },
  'hmac-sha1': { hashOctets: 20, weakness: 'is not recommended (RFC 8945 section 6)' },
  'hmac-sha224': { hashOctets: 28 },
  'hmac-sha256': { hashOctets: 32 },
  'hmac-sha384': { hashOctets: 48 },
  'hmac-sha512': { hashOctets: 64 },
};

/**
 * Returns why an algorithm should not be used for new keys. Returns undefined for an unknown
 * algorithm and for an algorithm that may be used.
 */
export function weaknessOf(algorithm: string): string | undefined {
  return isAlgorithm(algorithm) ? ALGORITHMS[algorithm].weakness : undefined;
}
