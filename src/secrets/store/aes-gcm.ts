import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_OCTETS = 12;
/** The length of the tag in octets. Both calls set it, because Node.js accepts shorter tags. */
const TAG = { authTagLength: 16 } as const;

/**
 * Encrypts octets with AES-256-GCM and a random nonce (NIST SP 800-38D). Returns nonce, ciphertext
 * and tag in base64url. `open` requires the same `context`.
 */
export function seal(key: Buffer, context: string, content: Buffer): string {
  const nonce = takeNonce();
  const cipher = createCipheriv(ALGORITHM, key, nonce, TAG);
  cipher.setAAD(Buffer.from(context));
  const sealed = [nonce, cipher.update(content), cipher.final()];
  return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url');
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
  const end = octets.length - TAG.authTagLength;
  if (end < NONCE_OCTETS) throw new Error('the ciphertext is too short');
  const decipher = createDecipheriv(ALGORITHM, key, octets.subarray(0, NONCE_OCTETS), TAG);
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(octets.subarray(end));
  // The plaintext must not be used before final(), because only final() checks the tag.
  const content = decipher.update(octets.subarray(NONCE_OCTETS, end));
  decipher.final();
  return content;
}
