import { createCipheriv, createDecipheriv } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
export const NONCE_OCTETS = 12;
/** The length of the tag in octets. Both calls set it, because Node.js accepts shorter tags. */
const TAG = { authTagLength: 16 } as const;

/** Returns ciphertext and tag (AES-256-GCM, NIST SP 800-38D). `decrypt` requires the same `context`. */
export function encrypt(key: Buffer, nonce: Buffer, context: string, content: Buffer): Buffer {
  const cipher = createCipheriv(ALGORITHM, key, nonce, TAG);
  cipher.setAAD(Buffer.from(context));
  return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts what `encrypt` returned. Throws `Error` if an argument differs. */
export function decrypt(key: Buffer, nonce: Buffer, context: string, sealed: Buffer): Buffer {
  const end = sealed.length - TAG.authTagLength;
  if (end < 0) throw new Error('the ciphertext is too short');
  const decipher = createDecipheriv(ALGORITHM, key, nonce, TAG);
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(end));
  // The plaintext must not be used before final(), because only final() checks the tag.
  const content = decipher.update(sealed.subarray(0, end));
  decipher.final();
  return content;
}
