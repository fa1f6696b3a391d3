import { ServiceError } from '../../core/errors.ts';

interface ShapeLimits {
  readonly containers: number;
  /** The maximum number of members of all objects together. New names are slow to parse. */
  readonly members: number;
  readonly membersOfOne: number;
  /** The maximum number of items of arrays and members of objects together. */
  readonly items: number;
}

/**
 * The limits for lists. A list of 20,000 entries has 20,002 arrays and objects, 40,003 members, and
 * 60,000 items and members.
 */
export const LONG_BODY: ShapeLimits = {
  containers: 50_000,
  members: 50_000,
  membersOfOne: 10_000,
  items: 100_000,
};

/**
 * The limits for single resources, whose bodies are short. The largest object in a valid body has
 * 100 members.
 */
export const ORDINARY_BODY: ShapeLimits = {
  ...LONG_BODY,
  containers: Infinity,
  membersOfOne: 1000,
};

/** The number of bytes that are scanned between two yields. */
const STEP_BYTES = 65_536;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * Rejects JSON text that would be much slower to parse than a list of the same length. Such text
 * has too many arrays, objects, members or items. Accepts text that is not JSON. Yields every 64
 * KiB, so that other work may run. Throws `invalid_object`.
 */
export function* checkShape(bytes: Buffer, limits: ShapeLimits): Generator<undefined, void> {
  let [containers, allMembers, items] = [0, 0, 0];
  let isInString = false;
  let members = 0; // the number of members of the current array or object
  const outer: number[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = Math.min(start + STEP_BYTES, bytes.length);
    let at = start;
    for (; at < end; at += 1) {
      const byte = bytes[at];
      if (isInString) {
        if (byte === BACKSLASH) at += 1;
        else if (byte === QUOTE) isInString = false;
      } else if (byte === QUOTE) {
        isInString = true;
      } else if (byte === COLON) {
        if ((members += 1) > limits.membersOfOne)
          throw tooComplex(`an object with more than ${limits.membersOfOne} members`);
        if ((allMembers += 1) > limits.members)
          throw tooComplex(`more than ${limits.members} members`);
      } else if (byte === COMMA) {
        if ((items += 1) > limits.items)
          throw tooComplex(`more than ${limits.items} items and members`);
      } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
        if ((containers += 1) > limits.containers)
          throw tooComplex(`more than ${limits.containers} arrays and objects`);
        outer.push(members);
        members = 0;
      } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
        members = outer.pop() ?? 0;
      }
    }
    start = at;
    yield;
  }
}

function tooComplex(problem: string): ServiceError {
  return new ServiceError(
    'invalid_object',
    `The request body has ${problem}. Split it into several requests.`,
  );
}
