/** A text, a bracket or the end of a line. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}\n]/g;

export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

export function looksLikeJson(text: string): boolean {
  return /^\uFEFF?\s*[[{]/.test(text);
}

/** An item of a list in JSON, and the line on which it begins. */
interface JsonItem {
  readonly line: number;
  readonly item: unknown;
}

/**
 * Reads a list, or an object with this list as `member`, as the API returns it. Returns what is wrong
 * with another text: `notList` for other JSON.
 */
export function readJsonItems(
  text: string,
  member: string,
  notList: string,
): { readonly items: readonly JsonItem[] } | { readonly problem: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return { problem: 'the file is not JSON' };
  }
  const items = memberOf(parsed, member) ?? parsed;
  if (!Array.isArray(items)) return { problem: notList };
  const lines = linesOfItems(text, items === parsed ? 1 : 2);
  return { items: items.map((item: unknown, index) => ({ line: lines[index] ?? 1, item })) };
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
