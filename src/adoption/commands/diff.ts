import { applyEdits, inOrder, type Edit } from '../../brands/rewrite.ts';

/** The number of lines before and behind each change. */
const CONTEXT = 3;

/** Lines from `first` up to but not including `end`. */
interface Lines {
  readonly first: number;
  readonly end: number;
}

/** A secret of a configuration: also with blanks, behind a comment, or on a further line. */
const SECRET = /(\bsecret\b(?:[\s:]|\/\*[^]*?\*\/|\/\/.*|#.*)*)("[^"]*"|'[^']*'|[^\s;"']+)/gi;

/** Stands for a character of a secret, so that lines and offsets stay. */
const HIDDEN = '\u0000';

export function withoutSecrets(text: string): string {
  return shown(hidden(text));
}

function hidden(text: string): string {
  return text.replaceAll(
    SECRET,
    (_, start: string, value: string) => start + value.replaceAll(/[^"'\n]/g, HIDDEN),
  );
}

function shown(text: string): string {
  return text.replaceAll(/\0+/g, '...');
}

/** Returns the edits of a file as a unified diff, without the secrets of the file. */
export function unifiedDiff(path: string, content: string, edits: readonly Edit[]): string {
  const text = hidden(content);
  const former = splitLines(text);
  const starts = startsOf(former);
  const offsetOf = (line: number) => starts[line] ?? text.length;
  const changes = groupsOf(
    inOrder(edits).map((edit) => ({ edit, ...linesOf(edit, starts) })),
    -1,
  ).map(({ first, end, parts }) => {
    const offset = offsetOf(first);
    const own = parts.map(({ edit: { start, end: last, ...edit } }) => ({
      ...edit,
      start: start - offset,
      end: last - offset,
    }));
    return { first, end, added: splitLines(applyEdits(text.slice(offset, offsetOf(end)), own)) };
  });
  const lines = [`--- ${path}`, `+++ ${path}`];
  let shift = 0;
  for (const hunk of groupsOf(changes, 2 * CONTEXT)) {
    const from = Math.max(0, hunk.first - CONTEXT);
    const body: string[] = [];
    let position = from;
    for (const { first, end, added } of hunk.parts) {
      body.push(...former.slice(position, first).map((line) => ` ${line}`));
      body.push(...former.slice(first, end).map((line) => `-${line}`));
      body.push(...added.map((line) => `+${line}`));
      position = end;
    }
    body.push(...former.slice(position, hunk.end + CONTEXT).map((line) => ` ${line}`));
    const before = body.filter((line) => !line.startsWith('+')).length;
    const after = body.filter((line) => !line.startsWith('-')).length;
    lines.push(`@@ -${from + 1},${before} +${from + 1 + shift},${after} @@`, ...body);
    shift += after - before;
  }
  return shown(`${lines.join('\n')}\n`);
}

function linesOf({ start, end, text }: Edit, starts: readonly number[]): Lines {
  const lineAt = (offset: number) => starts.findLastIndex((each) => each <= offset);
  const last = lineAt(end);
  const isWhole = end === starts[last] && (end > start || text.endsWith('\n'));
  return { first: Math.max(0, lineAt(start)), end: isWhole ? last : last + 1 };
}

/** Joins parts, each at most `gap` lines behind the former one, to groups. */
function groupsOf<T extends Lines>(parts: readonly T[], gap: number) {
  const groups: { readonly first: number; end: number; readonly parts: T[] }[] = [];
  for (const part of parts) {
    const former = groups.at(-1);
    if (former === undefined || part.first - former.end > gap)
      groups.push({ first: part.first, end: part.end, parts: [part] });
    else {
      former.parts.push(part);
      former.end = Math.max(former.end, part.end);
    }
  }
  return groups;
}

function startsOf(lines: readonly string[]): number[] {
  let offset = 0;
  return lines.map((line) => {
    const start = offset;
    offset += line.length + 1;
    return start;
  });
}

function splitLines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
