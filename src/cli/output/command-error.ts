import type { Problem } from '../../core/error-entry.ts';
import { faultOf } from '../../net/faults.ts';
import { plainLines, plainText } from './plain-text.ts';

/**
 * The exit codes. `refused`: the service refused the request. `usage`: the arguments or the
 * configuration are invalid. `unreachable`: the service is unreachable or does not accept the
 * token. `denied`: the token lacks a right. `unchecked`: a check found no fault, but could not check
 * everything. `interrupted`: Ctrl-C.
 */
export const EXIT = {
  done: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  denied: 4,
  unchecked: 5,
  interrupted: 130,
} as const;

export type MemberProblem = Pick<Problem, 'path' | 'message'>;

/**
 * The failure of a command. The message is one line, and `hint` states what to do next. Both texts
 * may quote a server or a file, so the constructor escapes unprintable characters.
 */
export class CommandError extends Error {
  readonly exitCode: number;
  readonly hint: string | undefined;
  /** The HTTP status, if the service refused the request. */
  readonly status: number | undefined;
  /** The problems with members of the request, if the service refused it for them. */
  readonly problems: readonly MemberProblem[];

  constructor(
    exitCode: number,
    message: string,
    hint?: string,
    cause?: unknown,
    status?: number,
    problems: readonly MemberProblem[] = [],
  ) {
    super(plainText(message), { cause });
    this.name = 'CommandError';
    this.exitCode = exitCode;
    this.hint = hint === undefined ? undefined : plainLines(hint);
    this.status = status;
    this.problems = problems;
  }
}

/** Returns a failure that says what to do next, unless it does so already. */
export function withHint(error: CommandError, hint: string): CommandError {
  const { exitCode, message, status, problems } = error;
  return new CommandError(exitCode, message, error.hint ?? hint, error, status, problems);
}

/** Returns the failure to read or write a file. `name` precedes its path. */
export function fileError(path: string, done: 'read' | 'written', cause: unknown, name = '') {
  const { message: reason, hint } = faultOf(cause);
  const message = `${name}'${path}' cannot be ${done}: ${reason}`;
  return new CommandError(EXIT.usage, message, hint, cause);
}
