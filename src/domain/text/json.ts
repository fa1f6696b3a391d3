/** A text, a bracket or the end of a line. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}\n]/g;

/** Returns a member of an object, or undefined for any other value. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** Returns the lines on which the objects of a list begin, which `depth` brackets enclose. */
export function linesOfItems(text: string, depth: number): number[] {
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
