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

interface Algorithm {
  /** The octets of the hash output. Secrets should be at least as long (RFC 2104 section 3). */
  readonly hashOctets: number;
  /** Why new keys should not use it (RFC 8945 section 6). Absent for a recommended algorithm. */
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

/** Returns undefined for an unknown algorithm, and for one that new keys may use. */
export function weaknessOf(algorithm: string): string | undefined {
  return isAlgorithm(algorithm) ? ALGORITHMS[algorithm].weakness : undefined;
}
