import type { Sorted } from './settings.ts';

/** What a resource type is called in errors. */
export interface Named extends Sorted {
  /** In error types: `tld` gives `tld_not_found`. */
  readonly noun: string;
  /** In messages: `Could not find Tld`. */
  readonly title: string;
  /** The name of the collection, for rights: `tlds:list`. */
  readonly collection: string;
  /** The sort keys beside the common ones. */
  readonly sortKeys?: Readonly<Record<string, string>>;
}

/** One thing wrong with one member of a request body. */
export interface Problem {
  /** Where the member is, from the outside in: `['name']`, `['masters', 0]`. */
  readonly path: readonly (string | number)[];
  /** What is wrong, as a sentence about the member. Never holds a secret's value. */
  readonly message: string;
  /** The rule that was broken: `required`, `additionalProperties`, `readOnly`, `type`, `format`. */
  readonly validator: string;
}

/** What an error may carry besides its code and message. */
export interface ErrorDetails {
  /** Everything wrong with the body, for `invalid_object`. */
  readonly problems?: readonly Problem[] | undefined;
  /** How long the caller should wait before it tries again. */
  readonly retryAfterSeconds?: number | undefined;
  /** The underlying fault. Goes to the log, never to the caller. */
  readonly cause?: unknown;
}

/** One way in which the service refuses a request. `About` is what its message depends on. */
export interface ErrorEntry<About> {
  readonly status: number;
  /** The `type` of the response, if it is not the code. `{noun}` in it stands for the noun of the resource type in `about`. */
  readonly type?: string;
  /** When callers get it, for the OpenAPI document. */
  readonly when: string;
  message(about: About): string;
  /** The resource type in `about`, for a `type` that has `{noun}`. */
  typeIn?(about: About): Named;
  /** An example of `about` for requests on `type`, for the OpenAPI document. Absent where the message is always the same. */
  example?(type: Named): About;
  /** What the example carries besides its message. */
  readonly exampleDetails?: ErrorDetails;
}

/** Checks an entry of the table where it is written. */
export function entry<About>(definition: ErrorEntry<About>): ErrorEntry<About> {
  return definition;
}

/** The body of a request, or one entry of a list, that is invalid. */
export interface Invalid {
  /** The name of what is invalid, which follows "Invalid". */
  readonly what: string;
  /** What is wrong, a sentence each. */
  readonly messages: readonly string[];
}

/** A limit on requests that the caller has exceeded. */
export interface RequestLimit {
  /** How many requests a second are allowed. */
  readonly perSecond: number;
  /** Whether only requests without a valid token count. */
  readonly anonymous?: boolean;
}

/** A resource that exists already. */
export interface Duplicate {
  readonly type: Named;
  /** Where the other one is, if it is not simply stored. */
  readonly place?: string;
}
