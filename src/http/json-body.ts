import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../domain/errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The JSON value in a request's body. Throws `unsupported_content_type`, `empty_request_body` or `invalid_json`, which
 * besides syntax errors means invalid UTF-8 and an object with two members of one name (RFC 8259 sections 4 and 8.1).
 * Messages never quote the body: it may hold a secret.
 */
export function readJsonBody(request: FastifyRequest): unknown {
  const mediaType = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw new ServiceError('unsupported_content_type', 'The Content-Type must be application/json');
  const bytes = request.body as Buffer | undefined;
  if (bytes === undefined || bytes.length === 0) throw new ServiceError('empty_request_body', 'The request has no body; a JSON object is expected');
  const value = parseJson(bytes);
  if (value === null) throw new ServiceError('empty_request_body', 'The request body is null; a JSON object is expected');
  return value;
}

/** The JSON value that `bytes` hold. Throws `invalid_json`. */
export function parseJson(bytes: Buffer): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw new ServiceError('invalid_json', 'The request body is not valid UTF-8', { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const position = /at position (\d+)/.exec((cause as Error).message)?.[1];
    throw new ServiceError('invalid_json', `The request body is not valid JSON${position === undefined ? '' : ` (at character ${position})`}`);
  }
  // As many colons as members: none can be doubled. Else some are in strings, or there is one.
  const doubled = countColons(text) === countMembers(value) ? undefined : findDoubledMember(text);
  if (doubled !== undefined) throw new ServiceError('invalid_json', `The request body has two members of the same name at character ${doubled}`);
  return value;
}

function countColons(text: string): number {
  let count = 0;
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) count += 1;
  return count;
}

/** How many members all objects in a value have. Without recursion: a body may be as deep as it is long. */
function countMembers(value: unknown): number {
  let count = 0;
  const left = [value];
  while (left.length > 0) {
    const each = left.pop();
    if (typeof each !== 'object' || each === null) continue;
    const members: unknown[] = Object.values(each);
    if (!Array.isArray(each)) count += members.length;
    for (const member of members) left.push(member);
  }
  return count;
}

/** Where a member name stands that its object already has, in text that is known to be JSON; undefined if nowhere. */
function findDoubledMember(text: string): number | undefined {
  const open: Set<string>[] = [];
  const colon = /[ \t\r\n]*:/y;
  let start: number | undefined; // of the string that the walk is inside
  // Not one match for a whole string: a long one would overflow the matcher's stack.
  for (const { 0: token, index } of text.matchAll(/\\.|["{}]/g)) {
    if (start === undefined) {
      if (token === '"') start = index;
      else if (token === '{') open.push(new Set());
      else if (token === '}') open.pop();
    } else if (token === '"') {
      colon.lastIndex = index + 1;
      if (colon.test(text)) {
        const name = JSON.parse(text.slice(start, index + 1)) as string;
        const members = open.at(-1);
        if (members?.has(name) === true) return start;
        members?.add(name);
      }
      start = undefined;
    }
  }
  return undefined;
}
