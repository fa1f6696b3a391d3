import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../core/errors.ts';
import type { Slicer } from '../../core/scheduling/slicer.ts';
import { messageOf } from '../../net/faults.ts';
import { checkShape, LONG_BODY, ORDINARY_BODY } from './json-shape.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bodies up to this size in bytes are parsed without `checkShape`. */
const SHORT_BODY_BYTES = 4096;

/**
 * Returns the JSON value in a request's body. Throws `unsupported_content_type`,
 * `empty_request_body`, `invalid_json` or, for a body that would take too long to parse,
 * `invalid_object`. `invalid_json` includes invalid UTF-8 and an object with two members of the
 * same name (RFC 8259 sections 4 and 8.1). Messages never quote the body, because it may contain a
 * secret.
 */
export function readJsonBody(request: FastifyRequest): unknown {
  const bytes = bytesOf(request);
  if (bytes.length > SHORT_BODY_BYTES) runAll(checkShape(bytes, ORDINARY_BODY));
  return runAll(parseAndCheck(bytes));
}

function runAll<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Reads a body that may be long, in slices. Decoding and parsing take one slice each, even for a
 * body of 2 MB. Throws the errors of `readJsonBody`.
 */
export async function readLongJsonBody(request: FastifyRequest, slicer: Slicer): Promise<unknown> {
  const bytes = bytesOf(request);
  await runSteps(checkShape(bytes, LONG_BODY), slicer);
  return runSteps(parseAndCheck(bytes), slicer);
}

async function runSteps<T>(steps: Generator<undefined, T>, slicer: Slicer): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (slicer.isOver()) await slicer.next();
  }
}

function bytesOf(request: FastifyRequest): Buffer {
  const mediaType = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw new ServiceError('unsupported_content_type');
  const { body } = request;
  if (!Buffer.isBuffer(body) || body.length === 0)
    throw new ServiceError('empty_request_body', 'absent');
  return body;
}

/** Returns whether a `Content-Encoding` names another coding than `identity`. */
export function isEncoded(contentEncoding = ''): boolean {
  return contentEncoding
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .some((coding) => coding !== '' && coding !== 'identity');
}

/** Returns the JSON value in `bytes`. Yields between steps, so that other work may run. */
export function* parseAndCheck(bytes: Buffer): Generator<undefined, unknown> {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw new ServiceError('invalid_json', 'is not valid UTF-8', { cause });
  }
  yield;
  const value = parse(text);
  if (value === null) throw new ServiceError('empty_request_body', 'null');
  yield;
  // If there are as many colons as members, no name is duplicated. If there are more colons than
  // members, either strings contain colons or a name is duplicated.
  const mayBeDoubled = countColons(text) !== (yield* countMembers(value));
  const doubled = mayBeDoubled ? yield* findDoubledMember(text) : undefined;
  if (doubled !== undefined)
    throw new ServiceError(
      'invalid_json',
      `has two members of the same name at character ${doubled}`,
    );
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const position = /at position (\d+)/.exec(messageOf(cause))?.[1];
    throw new ServiceError(
      'invalid_json',
      `is not valid JSON${position === undefined ? '' : ` (at character ${position})`}`,
    );
  }
}

function countColons(text: string): number {
  let count = 0;
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) count += 1;
  return count;
}

/** How many values, quotes and braces a scan reads between two steps. */
const STEP = 1000;

/** Does not recurse, because a body may be nested as deeply as it is long. */
function* countMembers(value: unknown): Generator<undefined, number> {
  let count = 0;
  let seen = 0;
  const left = [value];
  while (left.length > 0) {
    const each = left.pop();
    if (typeof each !== 'object' || each === null) continue;
    if ((seen += 1) % STEP === 0) yield;
    const members: unknown[] = Object.values(each);
    if (!Array.isArray(each)) count += members.length;
    for (const member of members) left.push(member);
  }
  return count;
}

/** Returns the position of the first duplicate name. `text` must be valid JSON. */
function* findDoubledMember(text: string): Generator<undefined, number | undefined> {
  const open: Set<string>[] = [];
  const colon = /[ \t\r\n]*:/y;
  let seen = 0;
  let start: number | undefined; // the start of the current string
  // The scan does not match a string as a whole, because a long string would overflow the matcher's
  // stack.
  for (const { 0: token, index } of text.matchAll(/\\.|["{}]/g)) {
    if ((seen += 1) % STEP === 0) yield;
    if (start === undefined) {
      if (token === '"') start = index;
      else if (token === '{') open.push(new Set());
      else if (token === '}') open.pop();
    } else if (token === '"') {
      colon.lastIndex = index + 1;
      if (colon.test(text)) {
        const name = String(JSON.parse(text.slice(start, index + 1)));
        const members = open.at(-1);
        if (members?.has(name) === true) return start;
        members?.add(name);
      }
      start = undefined;
    }
  }
  return undefined;
}
