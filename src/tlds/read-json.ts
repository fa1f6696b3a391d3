import { memberOf, readJsonItems } from '../core/text/json.ts';
import { entryIn } from './columns.ts';
import type { ListEntry, RefusedLine, TldList } from './list.ts';

/**
 * Reads the output of `openstack tld list -f json` or `tsigil tld list -f json`, or a response of
 * the API: an array of objects with `name` and `description`, or an object with this array as
 * `tlds`.
 */
export function readJsonList(text: string): TldList {
  const read = readJsonItems(text, 'tlds', 'the file is not a list of top-level domains');
  const entries: ListEntry[] = [];
  const refused: RefusedLine[] = [];
  if ('problem' in read) {
    const start = text.trim().slice(0, 60);
    if (start !== '') refused.push({ line: 1, text: start, reason: read.problem });
    return { entries, refused, leftOut: 0 };
  }
  for (const { line, item } of read.items) {
    const name = memberOf(item, 'name');
    if (typeof name === 'string') entries.push(entryIn(line, name, memberOf(item, 'description')));
    else refused.push({ line, text: JSON.stringify(item), reason: 'the member `name` is missing' });
  }
  return { entries, refused, leftOut: 0 };
}
