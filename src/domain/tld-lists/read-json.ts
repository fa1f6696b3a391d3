import { entryIn } from './columns.ts';
import type { ListEntry, RefusedLine, TldList } from './list.ts';

/** A text, a bracket or the end of a line. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}\n]/g;

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

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** Returns the lines on which the objects of a list begin, which `depth` brackets enclose. */
function linesOfItems(text: string, depth: number): number[] {
  const lines: number[] = [];
  let [line, level] = [1, 0];
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '\n') line += 1;
    if (token === '{' && level === depth) lines.push(line);
    if (token === '{' || token === '[') level += 1;
    if (token === '}' || token === ']') level -= 1;
  }
  return lines;
}
