import { ServiceError } from './errors.ts';

const UNREADABLE = Symbol('unreadable');

/**
 * Stands for a stored secret that cannot be decrypted. Throws `unreadable_secret` when it is written
 * as text or JSON, so that no response omits the secret unnoticed.
 */
export interface Unreadable {
  readonly [UNREADABLE]: true;
  toString(): never;
  toJSON(): never;
}

/** `cause` is why the secret cannot be decrypted, for the log. */
export function unreadable(cause: unknown): Unreadable {
  const fail = (): never => {
    throw new ServiceError('unreadable_secret', undefined, { cause });
  };
  return { [UNREADABLE]: true, toString: fail, toJSON: fail };
}

export function isUnreadable(value: unknown): value is Unreadable {
  return typeof value === 'object' && value !== null && UNREADABLE in value;
}

/** Returns a secret as text. Throws `unreadable_secret`. */
export function readable(secret: string | Unreadable): string {
  return isUnreadable(secret) ? secret.toString() : secret;
}
