import { hkdfSync } from 'node:crypto';
import { decrypt, encrypt, NONCE_OCTETS } from './aes-gcm.ts';

const KEY_OCTETS = 32;

/**
 * Encrypts a token under a random value that the database does not have, the cookie of a session.
 * Each value seals one token, so the nonce derives from it too.
 */
export function sealToken(value: string, token: string): string {
  const { key, nonce } = derive(value);
  return encrypt(key, nonce, '', Buffer.from(token)).toString('base64url');
}

export function openToken(value: string, sealed: string): string | undefined {
  const { key, nonce } = derive(value);
  try {
    return decrypt(key, nonce, '', Buffer.from(sealed, 'base64url')).toString();
  } catch {
    return undefined;
  }
}

/** Derives a key and a nonce (HKDF, RFC 5869). */
function derive(value: string): { readonly key: Buffer; readonly nonce: Buffer } {
  const octets = Buffer.from(
    hkdfSync('sha256', value, '', 'tsigil session token 1', KEY_OCTETS + NONCE_OCTETS),
  );
  return { key: octets.subarray(0, KEY_OCTETS), nonce: octets.subarray(KEY_OCTETS) };
}
