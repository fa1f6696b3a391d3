import { linesOfItems, memberOf } from '../text/json.ts';
import { entryIn } from './columns.ts';
import type { ListEntry, RefusedLine, TldList } from './list.ts';

/**
 * Reads the output of `openstack tld list -f json` or `tsigil tld list -f json`, or a response of
 * the API: an array of objects with `name` and `description`, or an object with this array as
 * `tlds`.
 */
export function readJsonList(text: string): TldList {
  const refusedFile = (reason: string): TldList => ({
    entries: [],
    refused: text.trim() === '' ? [] : [{ line: 1, text: text.trim().slice(0, 60), reason }],
    leftOut: 0,
  });
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return refusedFile('the file is not JSON');
  }
  const items = memberOf(parsed, 'tlds') ?? parsed;
  if (!Array.isArray(items)) return refusedFile('the file is not a list of top-level domains');
  const lines = linesOfItems(text, items === parsed ? 1 : 2);
  const entries: ListEntry[] = [];
  const refused: RefusedLine[] = [];
  for (const [index, item] of items.entries()) {
    const line = lines[index] ?? 1;
    const name = memberOf(item, 'name');
    if (typeof name === 'string') entries.push(entryIn(line, name, memberOf(item, 'description')));
    else refused.push({ line, text: JSON.stringify(item), reason: 'the member `name` is missing' });
  }
  return { entries, refused, leftOut: 0 };
}
