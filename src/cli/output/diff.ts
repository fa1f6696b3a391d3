import { applyEdits, inOrder, type Edit } from '../../domain/access/rewrite.ts';

/** The number of lines before and behind each change. */
const CONTEXT = 3;

/** Lines that are replaced, from `first` up to but not including `end`. */
interface Change {
  readonly first: number;
  readonly end: number;
  readonly edits: readonly Edit[];
}

/** A secret of a configuration: also with blanks, behind a comment, or on a further line. */
const SECRET = /(\bsecret\b(?:[\s:]|\/\*[^]*?\*\/|\/\/.*|#.*)*)("[^"]*"|'[^']*'|[^\s;"']+)/gi;

/** Stands for a character of a secret, so that lines and offsets stay. */
const HIDDEN = '\u0000';

/** Returns the text of a configuration without its secrets. */
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
  const starts = lineStarts(text);
  const lineAt = (offset: number) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low;
  };
  const offsetOf = (line: number) => starts[line] ?? text.length;
  const linesIn = (first: number, end: number) =>
    splitLines(text.slice(offsetOf(first), offsetOf(end)));
  const changes: Change[] = [];
  for (const edit of inOrder(edits)) {
    const first = lineAt(edit.start);
    const last = lineAt(edit.end);
    const isWhole =
      edit.end === offsetOf(last) && (edit.end > edit.start || edit.text.endsWith('\n'));
    const end = isWhole ? last : last + 1;
    const former = changes.at(-1);
    if (former === undefined || first >= former.end) changes.push({ first, end, edits: [edit] });
    else
      changes.splice(-1, 1, {
        first: former.first,
        end: Math.max(former.end, end),
        edits: [...former.edits, edit],
      });
  }
  const hunks: Change[][] = [];
  for (const change of changes) {
    const former = hunks.at(-1);
    const isNear = change.first - (former?.at(-1)?.end ?? -Infinity) <= 2 * CONTEXT;
    if (former !== undefined && isNear) former.push(change);
    else hunks.push([change]);
  }
  const lines = [`--- ${path}`, `+++ ${path}`];
  let shift = 0;
  for (const hunk of hunks) {
    const from = Math.max(0, (hunk[0]?.first ?? 0) - CONTEXT);
    const to = Math.min(starts.length, (hunk.at(-1)?.end ?? 0) + CONTEXT);
    const body: string[] = [];
    let position = from;
    for (const { first, end, edits: own } of hunk) {
      body.push(...linesIn(position, first).map((line) => ` ${line}`));
      const offset = offsetOf(first);
      const moved = own.map((edit) => ({
        ...edit,
        start: edit.start - offset,
        end: edit.end - offset,
      }));
      const replaced = applyEdits(text.slice(offset, offsetOf(end)), moved);
      body.push(...linesIn(first, end).map((line) => `-${line}`));
      body.push(...splitLines(replaced).map((line) => `+${line}`));
      position = end;
    }
    body.push(...linesIn(position, to).map((line) => ` ${line}`));
    const count = (sign: string) =>
      body.filter((line) => line.startsWith(' ') || line.startsWith(sign)).length;
    const [removed, added] = [count('-'), count('+')];
    lines.push(`@@ -${from + 1},${removed} +${from + 1 + shift},${added} @@`, ...body);
    shift += added - removed;
  }
  return shown(`${lines.join('\n')}\n`);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1))
    starts.push(end + 1);
  if (starts.at(-1) === text.length && text !== '') starts.pop();
  return starts;
}

function splitLines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
