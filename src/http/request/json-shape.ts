import { ServiceError } from '../../domain/model/errors.ts';

/** The most arrays and objects in a long body. A list of 20,000 entries needs 20,002. */
const MAX_CONTAINERS = 50_000;

/** The most members of one object in a long body. */
const MAX_MEMBERS = 10_000;

/** How many bytes are scanned between two steps. */
const STEP_BYTES = 65_536;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * Refuses JSON text that takes much longer to parse than a list of the same length: one with very many arrays and objects, or with
 * an object that has very many members. Accepts what is not JSON. Yields where other work may be done in between. Throws `invalid_object`.
 */
export function* checkShape(bytes: Buffer): Generator<undefined, void> {
  let containers = 0;
  let isInString = false;
  let members = 0; // of the container that the scan is inside
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
        if ((members += 1) > MAX_MEMBERS) throw tooComplex(`an object with more than ${MAX_MEMBERS} members`);
      } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
        if ((containers += 1) > MAX_CONTAINERS) throw tooComplex(`more than ${MAX_CONTAINERS} arrays and objects`);
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
  return new ServiceError('invalid_object', `The request body has ${problem}. Send a shorter list.`);
}
