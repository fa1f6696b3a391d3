/** What went wrong, for people and programs. Contains no secret. */
export interface Fault {
  /** A short name for programs, such as `unreachable`. Empty for an error without a code. */
  readonly code: string;
  readonly message: string;
  /** What to do next, as a sentence. */
  readonly hint?: string | undefined;
}
