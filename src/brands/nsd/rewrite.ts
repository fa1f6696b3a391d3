import { listName } from '../../access/rights.ts';
import {
  nsdEntries,
  type NsdAttribute,
  type NsdEntry,
  type NsdSpan,
} from '../../formats/read-nsd.ts';
import { KeyFileError } from '../../formats/reader.ts';
import { quoted } from '../../formats/writer.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import type { Row } from '../../access/access.ts';
import { keyIndex } from './access-syntax.ts';
import { keyOf, valueOf } from './access.ts';
import {
  indentationAt,
  movedBy,
  removalOf,
  type Edit,
  type Move,
  type Rewriter,
} from '../rewrite.ts';

/** A line `provide-xfr:` of a file, and the zones that have it, also through patterns. */
interface Line {
  readonly attribute: NsdAttribute;
  readonly zones: NsdEntry[];
}

/** Replaces a part of the file with a span. */
type Replace = (span: NsdSpan, start: number, end: number, replacement: string) => void;

/**
 * Rewrites the configuration of NSD, where the order of lines `provide-xfr:` has no effect. A line
 * leaves if one of its zones has a right by it that moves. The other zones that have the line
 * through the same pattern or file get it for themselves.
 */
export const rewriteNsd: Rewriter = ({ path, text, include }, move) => {
  const entries = nsdEntries(text, include);
  const edits: Edit[] = [];
  const replace: Replace = ({ file }, start, end, replacement) =>
    edits.push({ file: file?.path ?? path, start, end, text: replacement });
  const remove = (first: NsdSpan, others: readonly NsdSpan[]) => {
    const all = first.file?.text ?? text;
    const { start, end } = wholeOf(path, first, others);
    replace(first, ...removalOf(all, start, withComment(all, start, end)), '');
  };

  for (const entry of entries)
    if (entry.section === 'key:' && move.keys.has(nameForm(valueOf(entry, 'name:'))))
      remove(
        entry,
        entry.attributes.flatMap((each) => [each, ...each.spans]),
      );
  const { leaving, added } = changesOf(entries, move);
  for (const attribute of leaving) remove(attribute, attribute.spans);
  respell(entries, move, new Set(leaving.map(placeIn)), replace);
  for (const [zone, lines] of added) {
    const name = zone.attributes.findLast((each) => each.name === 'name:');
    if (name === undefined) continue;
    const { start, end } = wholeOf(path, name, name.spans);
    replace(name, ...linesBehind(name.file?.text ?? text, start, end, [...lines]));
  }
  edits.push({ file: path, ...includeOf(entries, text, move.file) });
  return edits;
};

function changesOf(entries: readonly NsdEntry[], move: Move) {
  const isMoved = movedBy(move);
  const moved = new Set(move.rows.flatMap(({ zones }: Row) => zones));
  const added = new Map<NsdEntry, Set<string>>();
  for (const entry of entries)
    if (entry.section === 'zone:' && moved.has(zoneOf(entry)))
      added.set(entry, new Set([undefined, zoneOf(entry)].map(includePattern)));
  const leaving: NsdAttribute[] = [];
  for (const { attribute, zones } of linesIn(entries)) {
    const { name, values } = attribute;
    const key = nameForm(keyOf(name, values) ?? '');
    const others = zones.filter((zone) => !isMoved(key, 'transfer', zoneOf(zone)));
    if (others.length === zones.length) continue;
    leaving.push(attribute);
    const spelt = move.keys.has(key) ? values.with(keyIndex(values), quoted(key)) : values;
    for (const zone of others)
      added.set(zone, (added.get(zone) ?? new Set()).add(`${name} ${spelt.join(' ')}`));
  }
  return { leaving, added };
}

/** Returns the lines `provide-xfr:` with the zones that have them. A file may be included twice. */
function linesIn(entries: readonly NsdEntry[]): Iterable<Line> {
  const patterns = new Map<string, readonly NsdAttribute[]>();
  const lines = new Map<string, Line>();
  for (const entry of entries) {
    const attributes = entry.attributes.flatMap((each) =>
      each.name === 'include-pattern:' ? (patterns.get(each.values[0] ?? '') ?? []) : [each],
    );
    const provided = attributes.filter(({ name }) => name === 'provide-xfr:');
    if (entry.section === 'pattern:') patterns.set(valueOf(entry, 'name:'), provided);
    if (entry.section !== 'zone:') continue;
    for (const attribute of provided) {
      const line = lines.get(placeIn(attribute)) ?? { attribute, zones: [] };
      lines.set(placeIn(attribute), line);
      if (line.zones.at(-1) !== entry) line.zones.push(entry);
    }
  }
  return lines.values();
}

/**
 * Spells the keys that move as Tsigil's file does, in the lines that stay. In its configuration,
 * NSD compares the names of keys with their case and final dot.
 */
function respell(
  entries: readonly NsdEntry[],
  move: Move,
  leaving: ReadonlySet<string>,
  replace: Replace,
): void {
  for (const { section, attributes } of entries)
    for (const attribute of section === 'zone:' || section === 'pattern:' ? attributes : []) {
      const key = keyOf(attribute.name, attribute.values);
      const span = attribute.spans[keyIndex(attribute.values)];
      if (key === undefined || span === undefined || leaving.has(placeIn(attribute))) continue;
      const spelt = nameForm(key);
      if (key !== spelt && move.keys.has(spelt)) replace(span, span.start, span.end, quoted(spelt));
    }
}

const zoneOf = (entry: NsdEntry) => nameForm(valueOf(entry, 'name:'));
const includePattern = (zone?: string) => `include-pattern: ${quoted(listName('transfer', zone))}`;
const placeIn = ({ file, start }: NsdSpan) => `${file?.path ?? ''} ${start}`;

/** Returns the part of a file from a token to the last of its others. Throws `KeyFileError`. */
function wholeOf(path: string, first: NsdSpan, others: readonly NsdSpan[]) {
  const { start, line, file } = first;
  if (others.some((each) => each.file?.path !== file?.path))
    throw new KeyFileError(
      `${file?.path ?? path}:${line}`,
      'what begins here ends in another file; write it in one file',
    );
  return { start, end: (others.at(-1) ?? first).end };
}

/** Returns where the comment after a statement that begins its line ends. */
function withComment(text: string, start: number, end: number): number {
  const [comment = ''] = /^[ \t]*#.*/.exec(lineAt(text, end)) ?? [];
  return indentationAt(text, start) === undefined ? end : end + comment.length;
}

/** Returns the lines to insert behind a statement: after its line if nothing else follows on it. */
function linesBehind(
  text: string,
  start: number,
  end: number,
  lines: readonly string[],
): [start: number, end: number, replacement: string] {
  const rest = lineAt(text, end);
  if (!/^\s*(?:#.*)?$/.test(rest)) return [end, end, lines.map((line) => ` ${line}`).join('')];
  const position = end + rest.length;
  const indentation = indentationAt(text, start) ?? '    ';
  return [position, position, lines.map((line) => `\n${indentation}${line}`).join('')];
}

/**
 * Returns where to include Tsigil's file: above the first section that may use it, or at the top if
 * that is in an included file, because an include statement may be within a section.
 */
function includeOf(entries: readonly NsdEntry[], text: string, file: string) {
  const first = entries.find(({ section }) => ['key:', 'pattern:', 'zone:'].includes(section));
  const top = /^(?:\s*#.*)*\s*/.exec(text)?.[0].length ?? 0;
  const use = first !== undefined && first.file === undefined ? first.start : top;
  const indentation = indentationAt(text, use);
  const start = use - (indentation?.length ?? 0);
  const newline = indentation === undefined ? '\n' : '';
  return { start, end: start, text: `${newline}include: ${quoted(file)}\n` };
}

/** Returns the rest of the line after a position. */
function lineAt(text: string, position: number): string {
  const end = text.indexOf('\n', position);
  return text.slice(position, end < 0 ? text.length : end);
}
