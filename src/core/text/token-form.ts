/** The prefix of every token of the service. Secret scanners can search for it. */
export const TOKEN_PREFIX = 'tsigil_';

export function looksLikeToken(text: string): boolean {
  return text.startsWith(TOKEN_PREFIX);
}

/**
 * Matches tokens of the service, and Keystone tokens of the providers `fernet` and `jws`. The
 * minimum lengths exclude names that only begin like a token. No match contains a quotation mark or
 * a backslash, so masked JSON stays valid.
 */
const TOKENS =
  /tsigil_[\x21\x23-\x5b\x5d-\x7e]{24,}|gAAAA[A-Za-z0-9_%=-]{20,}|eyJ[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]*)*/g;

/** Use this function wherever text may quote input: in errors and the log. */
export function withoutTokens(text: string): string {
  // Most texts contain no prefix of a token. A search for the prefixes takes less time than the
  // regular expression.
  if (!text.includes(TOKEN_PREFIX) && !text.includes('gAAAA') && !text.includes('eyJ')) return text;
  return text.replaceAll(TOKENS, '(a token)');
}

/** Returns a member's name for messages: its first 64 characters, with tokens masked. */
export function shorten(name: string): string {
  const masked = withoutTokens(name); // before the cut, because a part of a token may not match
  return masked.length > 64 ? `${masked.slice(0, 64)}…` : masked;
}

/**
 * Returns whether a text in the place of a name can be shown. A longer one with digits, or one with
 * other characters, may be a secret that a person has put there.
 */
export function looksLikeName(text: string): boolean {
  return /^(?:[A-Za-z_.-]{1,40}|[\w.-]{1,16})$/.test(text);
}
