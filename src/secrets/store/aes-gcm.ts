import { randomBytes } from 'node:crypto';
import { decrypt, encrypt, NONCE_OCTETS } from '../../core/aes-gcm.ts';

/**
 * Encrypts octets with AES-256-GCM and a random nonce (NIST SP 800-38D). Returns nonce, ciphertext
 * and tag in base64url. `open` requires the same `context`.
 */
export function seal(key: Buffer, context: string, content: Buffer): string {
  const nonce = takeNonce();
  return Buffer.concat([nonce, encrypt(key, nonce, context, content)]).toString('base64url');
}

/** The nonces that are drawn at once, because drawing one takes as long as drawing all. */
const NONCES_AT_ONCE = 128;
let nonces = Buffer.alloc(0);

/** Returns a random nonce that no other call returns. */
function takeNonce(): Buffer {
  if (nonces.length === 0) nonces = randomBytes(NONCES_AT_ONCE * NONCE_OCTETS);
  const nonce = nonces.subarray(0, NONCE_OCTETS);
  nonces = nonces.subarray(NONCE_OCTETS);
  return nonce;
}

/** Decrypts what `seal` returned. Throws `Error` if the key, the context or the text differs. */
export function open(key: Buffer, context: string, sealed: string): Buffer {
  const octets = Buffer.from(sealed, 'base64url');
  return decrypt(key, octets.subarray(0, NONCE_OCTETS), context, octets.subarray(NONCE_OCTETS));
}
