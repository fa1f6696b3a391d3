export function isPattern(path: string): boolean {
  return /[*?[]/.test(path);
}

/** Expands `{a,b}` in a pattern. Returns `a.conf` and `b.conf` for `{a,b}.conf`. */
export function expandBraces(pattern: string): string[] {
  const [whole, before = '', inside = '', after = ''] =
    /^([^{}]*)\{([^{}]*)\}(.*)$/s.exec(pattern) ?? [];
  if (whole === undefined) return [pattern];
  const rest = expandBraces(after);
  return inside.split(',').flatMap((word) => rest.map((end) => before + word + end));
}

/** Returns a function that returns whether a name matches a pattern of names, also with `{a,b}`. */
export function nameMatcher(pattern: string): (name: string) => boolean {
  const expressions = [pattern, ...expandBraces(pattern)].map(expressionOf);
  return (name) => expressions.some((expression) => expression.test(name));
}

/**
 * Returns a function that returns whether a name in a folder matches a pattern (glob(7)), which
 * matches a dot at the beginning only with a dot.
 */
export function fileMatcher(pattern: string): (name: string) => boolean {
  const expression = expressionOf(pattern);
  return (name) => expression.test(name) && (pattern.startsWith('.') || !name.startsWith('.'));
}

/** The shortest match of what is between two stars never has to be given up, so that time is linear. */
function expressionOf(word: string): RegExp {
  const parts: string[] = [''];
  for (const [part, escaped, not, set] of word.matchAll(/\\(.)|\*+|\?|\[([!^]?)(\]?[^\]]*)\]|[^]/g))
    if (part.startsWith('*')) parts.push('');
    else parts.push(`${parts.pop() ?? ''}${sourceOf(part, escaped, not, set)}`);
  const [start = '', ...rest] = parts;
  const end = rest.pop();
  const middle = rest.map((part, index) => `(?=(?<_${index}>[^]*?${part}))\\k<_${index}>`);
  const source = `^${start}${middle.join('')}${end === undefined ? '' : `[^]*${end}`}$`;
  try {
    return new RegExp(source, 's');
  } catch {
    return /(?!)/; // a set such as [z-a], which matches nothing
  }
}

function sourceOf(part: string, escaped?: string, not?: string, set?: string): string {
  if (set !== undefined) return `[${not ? '^' : ''}${set.replaceAll(/[\\\]^[]/g, '\\$&')}]`;
  return part === '?' ? '[^]' : (escaped ?? part).replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
