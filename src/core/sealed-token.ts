import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const KEY_OCTETS = 32;
const NONCE_OCTETS = 12;
const TAG = { authTagLength: 16 } as const;

/**
 * Encrypts a token under a random value that the database does not have, the cookie of a session.
 * Each value seals one token, so the nonce derives from it too.
 */
export function sealToken(value: string, token: string): string {
  const { key, nonce } = derive(value);
  const cipher = createCipheriv(ALGORITHM, key, nonce, TAG);
  const sealed = [cipher.update(token), cipher.final()];
  return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url');
}

export function openToken(value: string, sealed: string): string | undefined {
  const { key, nonce } = derive(value);
  const octets = Buffer.from(sealed, 'base64url');
  const end = octets.length - TAG.authTagLength;
  if (end < 0) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, nonce, TAG);
  decipher.setAuthTag(octets.subarray(end));
  try {
    // The text must not be used before final(), because only final() checks the tag.
    const token = decipher.update(octets.subarray(0, end));
    decipher.final();
    return token.toString();
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
