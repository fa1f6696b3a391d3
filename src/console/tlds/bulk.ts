import type { BulkResponse } from '../../tlds/bulk-request.ts';
import { refusedEntries, type ListEntry, type RefusedLine } from '../../tlds/list.ts';
import { get, RequestError } from '../requests.ts';

export interface Outcome {
  /** Undefined if every line is refused. */
  readonly response: BulkResponse | undefined;
  /** The entries that the service accepts. */
  readonly entries: readonly ListEntry[];
  readonly refused: readonly RefusedLine[];
}

/** The most lines that the service may refuse before the text is no list of domains. */
const MAX_REFUSED = 1000;

/**
 * Returns what the entries of a list would change, and changes nothing. The service refuses a
 * whole list for one wrong entry, so the request is repeated without those that it names. Throws
 * `RequestError`.
 */
export async function dryRun(
  entries: readonly ListEntry[],
  replace: boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  const refused: RefusedLine[] = [];
  let rest = entries;
  while (rest.length > 0) {
    try {
      const response = await apply(rest, { replace, dry_run: true }, signal);
      return { response, entries: rest, refused };
    } catch (error) {
      const wrong = refusedEntries(rest, error instanceof RequestError ? error.problems : []);
      if (wrong.size === 0 || refused.length > MAX_REFUSED) throw error;
      for (const [{ line, name: text }, reasons] of wrong)
        refused.push({ line, text, reason: reasons.join('; ') });
      rest = rest.filter((entry) => !wrong.has(entry));
    }
  }
  return { response: undefined, entries: [], refused };
}

/** Sends a list, which the service applies whole or not at all. Throws `RequestError`. */
export function apply(
  entries: readonly ListEntry[],
  options: { readonly replace: boolean; readonly dry_run?: boolean },
  signal?: AbortSignal,
): Promise<BulkResponse> {
  const tlds = entries.map(({ name, description }) => ({ name, description }));
  const body = Object.assign({ tlds }, options);
  return get('v2/tlds/bulk', { method: 'POST', body, ...(signal === undefined ? {} : { signal }) });
}
