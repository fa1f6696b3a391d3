import { plainLines, plainText } from './plain-text.ts';

/** How the command ends: done, refused by the service, used wrongly, not reachable or not authorised, stopped by Ctrl-C. */
export const EXIT = { done: 0, refused: 1, usage: 2, unreachable: 3, interrupted: 130 } as const;

/**
 * Why a command failed, as a person should read it, on one line. `hint` says what to do next. Both may quote a server or a file: unprintable
 * characters are escaped.
 */
export class CommandError extends Error {
  readonly exitCode: number;
  readonly hint: string | undefined;
  /** The status of the service's answer, where it refused. */
  readonly status: number | undefined;

  constructor(exitCode: number, message: string, hint?: string, cause?: unknown, status?: number) {
    super(plainText(message), { cause });
    this.name = 'CommandError';
    this.exitCode = exitCode;
    this.hint = hint === undefined ? undefined : plainLines(hint);
    this.status = status;
  }
}
