import { hash } from 'node:crypto';

/**
 * Returns the stored form of a token: SHA-256 in hexadecimal. Tokens have 256 random bits, so their
 * hashes need no salt or stretching.
 */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
