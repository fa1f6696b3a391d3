import { ServiceError, type Problem } from '../model/errors.ts';
import { boolean, enumeration } from '../model/field.ts';

/** The most entries that one list may hold. */
export const MAX_ENTRIES = 20_000;

/** How many bytes a request with a list may have as JSON, whatever others may have: room for the longest list of ordinary entries. */
export const MAX_LIST_BYTES = 2 * 1024 * 1024;

/** What happens when an entry is refused: nothing else either, or everything else all the same. */
export const MODES = ['transactional', 'per-item'] as const;

/** How a list of entries is to be applied. */
export interface BulkRequest {
  readonly mode: (typeof MODES)[number];
  /** Whether what is not in the list is removed. */
  readonly replace: boolean;
  /** Whether nothing is changed. */
  readonly dryRun: boolean;
  /** The entries as they were given, unchecked. */
  readonly entries: readonly unknown[];
}

/** The most problems that are told of one entry, and in the message about a whole list. */
const MAX_TOLD = 5;

const OPTIONS = { mode: enumeration(MODES), replace: boolean(), dry_run: boolean() };
const DEFAULTS = { mode: MODES[0], replace: false, dry_run: false };

/** Reads `{mode, replace, dry_run, tlds}` but for the entries themselves. Throws `invalid_object` with everything else that is wrong. */
export function readBulkRequest(body: unknown): BulkRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid([], "it must be a JSON object with the list 'tlds'");
  const { tlds, ...options } = body as Readonly<Record<string, unknown>>;
  const problems: Problem[] = [];
  const read: Record<string, unknown> = { ...DEFAULTS };
  for (const [name, value] of Object.entries(options)) {
    const parsed = Object.hasOwn(OPTIONS, name)
      ? OPTIONS[name as keyof typeof OPTIONS].parse(value)
      : { problem: 'is not a known property', validator: 'additionalProperties' };
    if ('value' in parsed) read[name] = parsed.value;
    else problems.push({ path: [name], message: `'${name.slice(0, 64)}' ${parsed.problem}`, validator: parsed.validator });
  }
  const { mode, replace, dry_run: dryRun } = read as { mode: BulkRequest['mode']; replace: boolean; dry_run: boolean };
  if (replace && mode !== 'transactional') {
    problems.push({ path: ['mode'], message: "'mode' must be transactional where 'replace' is true", validator: 'not_allowed' });
  }
  const problem = listProblem(tlds);
  if (problem !== undefined) problems.push({ path: ['tlds'], message: `'tlds' ${problem}`, validator: tlds === undefined ? 'required' : 'items' });
  if (problems.length > 0) throw invalid(problems.slice(0, MAX_ENTRIES), told(problems.map(({ message }) => message)));
  return { mode, replace, dryRun, entries: tlds as readonly unknown[] };
}

/** An empty list is refused: as a replacement it would remove everything, and is more often a failed download than meant. */
function listProblem(list: unknown): string | undefined {
  if (list === undefined) return 'is a required property';
  const fits = Array.isArray(list) && list.length >= 1 && list.length <= MAX_ENTRIES;
  return fits ? undefined : `must be an array of 1 to ${MAX_ENTRIES} entries`;
}

/** The refusal of a whole list of `count` entries, with the problems of every entry that is refused. */
export function refuseTogether(refused: readonly { readonly index: number; readonly error: ServiceError }[], count: number): ServiceError {
  const problems: Problem[] = [];
  for (const { index, error } of refused) {
    const own = error.details.problems ?? [{ path: [], message: error.message, validator: 'type' }];
    const room = Math.min(MAX_TOLD, MAX_ENTRIES - problems.length);
    for (const { path, message, validator } of own.slice(0, room)) problems.push({ path: ['tlds', index, ...path], message, validator });
  }
  const messages = refused.slice(0, MAX_TOLD).map(({ index, error }) => `entry ${index}: ${refusalMessage(error)}`);
  return invalid(problems, `${refused.length} of ${count} entries are refused, and nothing was changed: ${told(messages, refused.length)}`);
}

/** Why one entry was refused, in a sentence of limited length. */
export function refusalMessage({ message, details }: ServiceError): string {
  return details.problems === undefined ? message : told(details.problems.map((problem) => problem.message));
}

/** The first of `messages`, and how many of all `count` are left out. */
function told(messages: readonly string[], count = messages.length): string {
  const more = count > MAX_TOLD ? [`and ${count - MAX_TOLD} more`] : [];
  return [...messages.slice(0, MAX_TOLD), ...more].join('; ');
}

function invalid(problems: readonly Problem[], message: string): ServiceError {
  return new ServiceError('invalid_object', { what: 'list', messages: [message] }, { problems });
}
