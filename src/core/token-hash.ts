import { hash, timingSafeEqual } from 'node:crypto';

/**
 * Returns the stored form of a token: SHA-256 in hexadecimal. Tokens have 256 random bits, so their
 * hashes need no salt or stretching.
 */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** Compares in a time that depends on the lengths only. */
export function isSameHash(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
