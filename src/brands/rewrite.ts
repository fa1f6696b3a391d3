import type { Right } from '../access/rights.ts';
import { canonicalKey, isSameKey } from '../formats/key.ts';
import type { IncludedFile, ReadIncluded } from '../formats/reader.ts';
import { comparisonForm } from '../core/text/dns-name.ts';
import {
  FAMILIES,
  permits,
  witnessesOf,
  type AccessList,
  type DefinedKey,
  type Row,
  type ServerConfiguration,
  type ZoneAccess,
} from '../access/access.ts';
import { ACCESS_READERS } from './access-readers.ts';

/** A part of a configuration file to replace: from `start` to `end`, in UTF-16 units of its text. */
export interface Edit {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What moves from the configuration of the operator to Tsigil's file. */
export interface Move {
  /** The keys whose definitions move, by their names in comparison form. */
  readonly keys: ReadonlySet<string>;
  /** The rights that Tsigil's lists give from then on. */
  readonly rows: readonly Row[];
  /** The path of Tsigil's file. */
  readonly file: string;
}

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly include: ReadIncluded;
}

/**
 * Returns the edits that take what moves out of a configuration, and include Tsigil's file. The
 * statement that includes the file begins a line. Throws `KeyFileError`.
 */
export type Rewriter = (source: Source, move: Move) => readonly Edit[];

export function movedBy({ rows }: Move): (key: string, right: Right, zone: string) => boolean {
  const moved = new Set(
    rows.flatMap(({ key, right, zones }) => zones.map((zone) => `${key} ${right} ${zone}`)),
  );
  return (key, right, zone) => moved.has(`${key} ${right} ${zone}`);
}

/**
 * Returns the part of a text to remove with a statement: its lines if nothing else is on them, else
 * also the blanks behind it.
 */
export function removalOf(text: string, start: number, end: number): [start: number, end: number] {
  const line = text.lastIndexOf('\n', start - 1) + 1;
  const next = text.indexOf('\n', end) + 1;
  const [before = ''] = /[ \t]*$/.exec(text.slice(start === 0 ? 0 : line, start)) ?? [];
  const [behind = '', newline = ''] =
    /^[ \t]*(\r?\n)?/.exec(text.slice(end, next === 0 ? text.length : next)) ?? [];
  const first = start - before.length;
  const beginsLine = first === 0 || text[first - 1] === '\n';
  if (beginsLine && (newline !== '' || end + behind.length === text.length))
    return [first, end + behind.length];
  return newline === '' ? [start, end + behind.length] : [first, end];
}

/** Returns what is before a position on its line if it is blank, or undefined. */
export function indentationAt(text: string, position: number): string | undefined {
  const before = text.slice(text.lastIndexOf('\n', position - 1) + 1, position);
  return before.trim() === '' ? before : undefined;
}

/** Returns the text of a file with its edits. Throws `TypeError` if they overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let position = 0;
  for (const { start, end, text: replacement } of inOrder(edits)) {
    if (start < position) throw new TypeError(`Two edits overlap at ${start}`);
    parts.push(text.slice(position, start), replacement);
    position = end;
  }
  return [...parts, text.slice(position)].join('');
}

/** Returns the edits in order, and the same edit of a file that is included twice only once. */
export function inOrder(edits: readonly Edit[]): Edit[] {
  const distinct = new Map(edits.map((edit) => [JSON.stringify(edit), edit]));
  return [...distinct.values()].toSorted(
    (one, other) => one.start - other.start || one.end - other.end,
  );
}

/** Returns the configuration with the edits. `own` is Tsigil's file, which it then includes. */
export function editedSource(source: Source, edits: readonly Edit[], own: IncludedFile): Source {
  const textOf = ({ path, text }: IncludedFile) =>
    applyEdits(
      text,
      edits.filter(({ file }) => file === path),
    );
  return {
    path: source.path,
    text: textOf(source),
    include: (statement) =>
      statement.pattern === own.path
        ? [own]
        : source.include(statement).map((file) => ({ ...file, text: textOf(file) })),
  };
}

/**
 * Returns what the edits would change, in sentences without secrets: who may do what in which zone,
 * which keys exist, and which lines name them. Throws `KeyFileError`.
 */
export function differencesAfter(
  format: string,
  source: Source,
  edits: readonly Edit[],
  own: IncludedFile,
): string[] {
  const [before, after] = [source, editedSource(source, edits, own)].map(
    ({ text, include, path }) => ACCESS_READERS[format]?.(text, include, path),
  );
  if (before === undefined || after === undefined)
    throw new TypeError(`No reader of access lists is named '${format}'`);
  return [
    ...differentKeys(before, after, own),
    ...differentRights(before, after),
    ...differentReferences(before, after),
  ];
}

function differentKeys(
  before: ServerConfiguration,
  after: ServerConfiguration,
  own: IncludedFile,
): string[] {
  const isOwn = ({ place }: DefinedKey) => place.startsWith(`${own.path}:`);
  const ours = new Map(
    after.keys.filter(isOwn).map(({ key }) => [comparisonForm(key.name), canonicalKey(key)]),
  );
  const foreign = after.keys.filter((each) => !isOwn(each));
  const left = new Set(foreign.map(({ key }) => comparisonForm(key.name)));
  const named = ({ key, place }: DefinedKey) => `The key '${key.name}' (${place})`;
  return [
    ...foreign.flatMap((each) =>
      ours.has(comparisonForm(each.key.name)) ? [`${named(each)} would be defined twice`] : [],
    ),
    ...before.keys.flatMap((each) => {
      const name = comparisonForm(each.key.name);
      const found = ours.get(name);
      if (found !== undefined && !isSameKey(found, each.key))
        return [`${named(each)} would get another secret or algorithm`];
      return found === undefined && !left.has(name) ? [`${named(each)} would be missing`] : [];
    }),
  ];
}

function differentRights(before: ServerConfiguration, after: ServerConfiguration): string[] {
  const idOf = ({ name, view }: ZoneAccess) => `${name} ${view ?? ''}`;
  const later = new Map(after.zones.map((zone) => [idOf(zone), zone]));
  const { families = FAMILIES } = before;
  // A key of a view that moves would be known in every view.
  const further = [...before.keys, ...after.keys].flatMap(({ key, view }) =>
    view === undefined ? [] : comparisonForm(key.name),
  );
  const compared = new Map<unknown, Map<unknown, string[]>>();
  const compare = (one: AccessList | undefined, other: AccessList | undefined) => {
    const known = compared.get(one)?.get(other);
    if (known !== undefined) return known;
    const lists = [one, other];
    const witnesses = witnessesOf(lists, families);
    const keys = new Set([...lists.flatMap((list) => list?.keys ?? []), ...further]);
    const found = [undefined, ...keys].flatMap((key) => {
      const who = key === undefined ? 'requests without a key' : `the key '${key}'`;
      const changed = witnesses.filter(
        (each) => permits([one], each, key) !== permits([other], each, key),
      );
      const [gained] = changed.map((each) => permits([other], each, key));
      if (gained !== undefined) return [`${who} would ${gained ? 'gain' : 'lose'}`];
      const [reason, next] = lists.map((list) => list?.inexpressible?.get(key ?? ''));
      // A list says what it leaves in doubt only of keys that it names.
      const isNew = key === undefined || one?.keys.includes(key) !== true;
      return reason === next || isNew ? [] : [`${who}: ${next ?? `no longer: ${reason ?? ''}`}:`];
    });
    const pairs = compared.get(one) ?? new Map<unknown, string[]>();
    compared.set(one, pairs.set(other, found));
    return found;
  };
  const problems = before.zones.flatMap((zone) => {
    const { name, lists } = zone;
    const found = later.get(idOf(zone));
    if (found === undefined) return [`The zone ${name} would be missing`];
    return (['transfer', 'update'] as const).flatMap((right) =>
      compare(lists[right], found.lists[right]).map((change) => `${change} ${right} of ${name}`),
    );
  });
  const added = after.zones.length - before.zones.length;
  return added > 0 ? [...problems, `${added} zones would be added`] : problems;
}

function differentReferences(before: ServerConfiguration, after: ServerConfiguration): string[] {
  const textsOf = ({ references }: ServerConfiguration) =>
    references.map(({ key, role, zone = '' }) => `${key} (${role}) ${zone}`);
  const [former, later] = [textsOf(before), textsOf(after)];
  const missing = (from: readonly string[], texts: readonly string[]) => {
    const known = new Set(texts);
    return from.filter((text) => !known.has(text));
  };
  return [
    ...missing(former, later).map((text) => `A line would no longer name the key ${text}`),
    ...missing(later, former).map((text) => `A line would name the key ${text}`),
    ...missing(after.unread, before.unread).map((file) => `${file} could not be read`),
  ];
}
