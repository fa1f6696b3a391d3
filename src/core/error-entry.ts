import type { Sorted } from './settings.ts';

/** The id of a resource in examples of errors, requests and responses. */
export const EXAMPLE_ID = 'b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94';

export interface Named extends Sorted {
  /** The name in error types, such as `tld` in `tld_not_found`. */
  readonly noun: string;
  /** The name in messages, such as `Tld` in `Could not find Tld`. */
  readonly title: string;
  readonly collection: string;
  readonly sortKeys?: Readonly<Record<string, string>>;
}

export interface Problem {
  /** The path of the member, outermost name first: `['name']`, `['masters', 0]`. */
  readonly path: readonly (string | number)[];
  /** The problem, as a sentence about the member. Never contains a secret's value. */
  readonly message: string;
  /** The violated rule: `required`, `additionalProperties`, `readOnly`, `type`, `format`. */
  readonly validator: string;
}

export interface ErrorDetails {
  /** The problems with the body, for `invalid_object`. */
  readonly problems?: readonly Problem[] | undefined;
  readonly retryAfterSeconds?: number | undefined;
  /** The underlying error. The service logs this error and never sends it to the caller. */
  readonly cause?: unknown;
}

/** One kind of error response. `About` is the type of the values in the message. */
export interface ErrorEntry<About> {
  readonly status: number;
  /** The `type` of the response, if not the code. `{noun}` is that of the type in `about`. */
  readonly type?: string;
  /** When the service returns the error, for the OpenAPI document. */
  readonly when: string;
  message(about: About): string;
  /** Returns the resource type in `about`, for a `type` that has `{noun}`. */
  typeIn?(about: About): Named;
}

/** Returns an entry of the error table unchanged, so that the compiler checks its type. */
export function entry<About>(definition: ErrorEntry<About>): ErrorEntry<About> {
  return definition;
}

export interface Invalid {
  /** The word for the body or entry in the message, such as `list` in "Invalid list". */
  readonly what: string;
  /** The problems, one sentence each. */
  readonly messages: readonly string[];
}

export interface RequestLimit {
  readonly perSecond: number;
  /** Whether the limit counts only requests without a valid token. */
  readonly anonymous?: boolean;
}

export interface Duplicate {
  readonly type: Named;
  /** Such as "entry 0 of the list has the same name". Absent if the caller cannot see it. */
  readonly place?: string;
}

export interface InUse {
  readonly what: 'zones' | 'name servers';
  /** Those that the caller can see. */
  readonly names: readonly string[];
}
