import { listName, RIGHTS, type Right } from '../../access/rights.ts';
import { knotEntries, type KnotEntry } from '../../formats/read-knot.ts';
import type { Origin } from '../../formats/reader.ts';
import { quoted } from '../../formats/writer.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import { linesOf } from '../../core/text/lines.ts';
import type { Row } from '../../access/access.ts';
import { keysOf, SECTIONS, valueOf, valuesOf } from './access.ts';
import { movedBy, type Edit, type Rewriter } from '../rewrite.ts';

/** The beginnings of lines that may use keys or rules, also in included files. */
const USES = /^(?:key|remote|remotes|acl|template|zone|include)\s*:/;

/** The line of an item: its name, its value, and the blanks and the comment behind. */
const ITEM =
  /^(\s*(?:-\s*)?[a-z0-9-]+\s*:)\s*(?:\[(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\]"'])*\]|"(?:[^"\\]|\\.)*"|'[^']*'|.*?)((?:\s+#.*|\s*))$/i;

/** A rule, or a part of it: some of its keys, with the same actions. */
interface Part {
  id: string;
  readonly keys: readonly string[];
  readonly actions: readonly string[];
}

interface Rule {
  readonly entry: KnotEntry;
  readonly whole: Part;
  /** Whether an edit can divide the rule between its keys, or narrow it for all, or neither. */
  readonly divides: 'by key' | 'for all keys' | 'no';
  /** What the lists need of the rule, or undefined if no list names it. */
  neededParts?: Map<string, Part>;
}

/** The list `acl` of a zone or template, as it becomes. */
interface List {
  readonly entry: KnotEntry;
  readonly ours: readonly string[];
  readonly parts: readonly Part[];
}

/** Returns which parts of each rule of a list stay in a zone. Without a zone, all stays. */
type Stays = (ids: readonly string[], zone?: string) => readonly (readonly Part[])[];

/**
 * Rewrites the configuration of Knot DNS. A zone with rights that move gets its own list: Tsigil's
 * rules, then what stays of the list that the zone had or inherited. The order changes no answer,
 * because no rule refuses a right that moves.
 */
export const rewriteKnot: Rewriter = ({ path, text, include }, move) => {
  const entries = knotEntries(text, SECTIONS, include);
  const rules = rulesOf(entries);
  const isMoved = movedBy(move);
  const stays: Stays = (ids, zone) =>
    ids.map((id) => {
      const rule = rules.get(id);
      if (rule === undefined) return [{ id, keys: [], actions: [] }];
      const needed = (rule.neededParts ??= new Map());
      return (zone === undefined ? [rule.whole] : partsOf(rule, zone, isMoved)).map((part) => {
        const content = JSON.stringify([part.keys, part.actions]);
        const known = needed.get(content) ?? part;
        needed.set(content, known);
        return known;
      });
    });
  const lists = listsOf(entries, move.rows, stays);
  nameParts(rules);

  const editor = createEditor(path, text);
  const leaving = new Set(
    entries.filter(
      (entry) => entry.section === 'key' && move.keys.has(nameForm(valueOf(entry, 'id'))),
    ),
  );
  for (const rule of rules.values()) {
    const { entry, whole, neededParts } = rule;
    const found = [...(neededParts?.values() ?? [])];
    const parts = [
      ...found.filter((part) => part === whole),
      ...found.filter((part) => part !== whole),
    ];
    const lines = editor.linesIn(entry).slice(entry.line - 1, entry.end);
    if (neededParts?.size === 0) leaving.add(entry);
    else if (parts.some((part) => part !== whole))
      editor.replace(
        entry,
        entry.line,
        entry.end,
        parts.flatMap((part) => linesOfPart(rule, part, lines)),
      );
  }
  removeEntries(editor, entries, leaving);
  for (const list of lists) writeList(editor, list);
  const lines = linesOf(text);
  const use = lines.findIndex((line) => USES.test(line));
  editor.insert({ line: 1 }, use < 0 ? lines.length : use, `include: ${quoted(move.file)}`);
  return editor.edits;
};

function rulesOf(entries: readonly KnotEntry[]): Map<string, Rule> {
  const remotes = new Map<string, readonly string[]>();
  const groups = new Map<string, readonly string[]>();
  const rules = new Map<string, Rule>();
  for (const entry of entries) {
    const id = valueOf(entry, 'id');
    if (entry.section === 'remote') remotes.set(id, keysOf(entry));
    if (entry.section === 'remotes') groups.set(id, valuesOf(entry, 'remote'));
    if (entry.section !== 'acl') continue;
    const signers = valuesOf(entry, 'remote')
      .flatMap((each) => groups.get(each) ?? [each])
      .map((each) => remotes.get(each) ?? []);
    const keys = signers.length === 0 ? valuesOf(entry, 'key') : signers.flat();
    const actions = valuesOf(entry, 'action');
    // A rule without actions refuses, and one without keys is for unsigned requests.
    const isFixed =
      actions.length === 0 || keys.length === 0 || signers.some((each) => each.length === 0);
    const byKey = signers.length > 0 ? 'for all keys' : 'by key';
    const divides = isFixed ? 'no' : byKey;
    rules.set(id, { entry, whole: { id, keys, actions }, divides });
  }
  return rules;
}

function partsOf(
  { whole, divides }: Rule,
  zone: string,
  isMoved: ReturnType<typeof movedBy>,
): readonly Part[] {
  if (divides === 'no') return [whole];
  const parts = new Map<string, Part & { readonly keys: string[] }>();
  for (const key of whole.keys) {
    const actions = whole.actions.filter((action) => {
      const right = RIGHTS.find((each) => each === action.toLowerCase());
      return right === undefined || !isMoved(nameForm(key), right, zone);
    });
    const content = actions.join();
    const part = parts.get(content) ?? { id: '', keys: [], actions };
    part.keys.push(key);
    if (actions.length > 0) parts.set(content, part);
  }
  const found = [...parts.values()];
  const [first] = found;
  const isWhole = (part: Part) => part.keys.length === whole.keys.length;
  if (first === undefined) return [];
  if (isWhole(first) && first.actions.length === whole.actions.length) return [whole];
  return divides === 'by key' || isWhole(first) ? found : [whole];
}

/** Returns the lists that change, and notes in each rule what the other lists need of it. */
function listsOf(entries: readonly KnotEntry[], rows: readonly Row[], stays: Stays): List[] {
  const rights = new Map<string, Set<Right>>();
  for (const { right, zones } of rows)
    for (const zone of zones) rights.set(zone, (rights.get(zone) ?? new Set()).add(right));
  const sectionOf = (section: string) => entries.filter((each) => each.section === section);
  const templates = new Map(sectionOf('template').map((each) => [valueOf(each, 'id'), each]));
  const heirs = new Map<string, Heir[]>();
  const lists: List[] = [];
  for (const entry of sectionOf('zone')) {
    const zone = nameForm(valueOf(entry, 'domain'));
    const template = valueOf(entry, 'template') || 'default';
    const own = entry.items.get('acl');
    const ids = own?.values ?? valuesOf(templates.get(template), 'acl');
    const moved = rights.get(zone);
    const parts = moved === undefined && own === undefined ? [] : stays(ids, moved && zone);
    const others = heirs.get(template) ?? [];
    heirs.set(template, others);
    if (own === undefined) others.push({ rights: moved, parts });
    if (moved === undefined) continue;
    const names = [undefined, zone].flatMap((each) => listNames(moved, each));
    lists.push({ entry, ours: names, parts: parts.flat() });
  }
  const ofCatalogs = catalogTemplates(entries);
  for (const [id, entry] of templates) {
    const zones = heirs.get(id) ?? [];
    const ids = valuesOf(entry, 'acl');
    const moved = new Set(zones.flatMap((each) => [...(each.rights ?? [])]));
    // Zones that are not in this file may use a template that no zone uses.
    if (zones.length === 0 || ofCatalogs.has(id) || zones.some((each) => each.rights === undefined))
      stays(ids);
    else if (entry.items.has('acl'))
      lists.push({
        entry,
        ours: listNames(moved),
        parts: ids.flatMap((_, index) => zones.flatMap(({ parts }) => parts[index] ?? [])),
      });
  }
  return lists;
}

/** A zone that inherits the list of its template. */
interface Heir {
  readonly rights: ReadonlySet<Right> | undefined;
  readonly parts: readonly (readonly Part[])[];
}

function listNames(rights: ReadonlySet<Right>, zone?: string): string[] {
  return RIGHTS.filter((right) => rights.has(right)).map((right) => listName(right, zone));
}

/** Returns the ids of the templates of zones that only a catalog names. */
function catalogTemplates(entries: readonly KnotEntry[]): ReadonlySet<string> {
  const named = entries.flatMap((entry) => valuesOf(entry, 'catalog-template'));
  const interprets = entries.some((entry) => valuesOf(entry, 'catalog-role').includes('interpret'));
  return new Set(interprets ? [...named, 'default'] : named);
}

/** Gives each part of a rule an id: that of the rule, if no list needs the whole rule. */
function nameParts(rules: ReadonlyMap<string, Rule>): void {
  const ids = new Set(rules.keys());
  for (const { whole, neededParts } of rules.values()) {
    const parts = [...(neededParts?.values() ?? [])];
    let free = parts.includes(whole) ? undefined : whole.id;
    let number = 1;
    for (const part of parts.filter((each) => each !== whole)) {
      while (free === undefined) {
        number += 1;
        if (!ids.has(`${whole.id}-${number}`)) free = `${whole.id}-${number}`;
      }
      part.id = free;
      ids.add(free);
      free = undefined;
    }
  }
}

interface Editor {
  readonly edits: Edit[];
  linesIn(origin: Origin): readonly string[];
  replace(origin: Origin, first: number, last: number, lines: readonly string[]): void;
  insert(origin: Origin, after: number, line: string): void;
}

function createEditor(path: string, text: string): Editor {
  const files = new Map<string, { readonly lines: string[]; readonly starts: number[] }>();
  const edits: Edit[] = [];
  const fileOf = ({ file = { path, text } }: Origin) => {
    const known = files.get(file.path);
    if (known !== undefined) return { ...file, ...known };
    const ends = [...file.text.matchAll(/\r\n|\n|\r/g)].map(
      ({ 0: end, index }) => index + end.length,
    );
    const found = {
      lines: linesOf(file.text),
      starts: [file.text.startsWith('\uFEFF') ? 1 : 0, ...ends],
    };
    files.set(file.path, found);
    return { ...file, ...found };
  };
  const replace: Editor['replace'] = (origin, first, last, lines) => {
    const { path: file, text: all, starts } = fileOf(origin);
    const start = starts[first - 1] ?? all.length;
    const end = starts[last] ?? all.length;
    const newline = start === all.length && !/(?:^|[\r\n])$/.test(all) ? '\n' : '';
    edits.push({ file, start, end, text: newline + lines.map((line) => `${line}\n`).join('') });
  };
  return {
    edits,
    linesIn: (origin) => fileOf(origin).lines,
    replace,
    insert: (origin, after, line) => {
      replace(origin, after + 1, after, [line]);
    },
  };
}

/** Removes entries, and the names of the sections that are empty without them. */
function removeEntries(
  editor: Editor,
  entries: readonly KnotEntry[],
  leaving: ReadonlySet<KnotEntry>,
): void {
  const staying = new Set(entries.filter((each) => !leaving.has(each)).map(headerOf));
  const headers = new Map([...leaving].map((entry) => [headerOf(entry), entry]));
  for (const [header, entry] of headers)
    if (!staying.has(header)) editor.replace(entry, entry.header, entry.header, []);
  for (const entry of leaving) editor.replace(entry, entry.line, entry.end, []);
}

function headerOf({ file, header }: KnotEntry): string {
  return `${file?.path ?? ''}:${header}`;
}

/** Returns the lines of a part of a rule. `lines` are those of the rule. */
function linesOfPart(
  { entry, whole }: Rule,
  { id, keys, actions }: Part,
  lines: readonly string[],
): string[] {
  const changed = new Map<number, string | undefined>();
  const change = (item: string, value: string) => {
    for (const [index, line] of (entry.items.get(item)?.lines ?? []).entries())
      changed.set(line - entry.line, index === 0 ? value : undefined);
  };
  if (id !== whole.id) change('id', idText(id));
  if (keys.length < whole.keys.length) change('key', `[${keys.map(quoted).join(', ')}]`);
  if (actions.length < whole.actions.length) change('action', listText(actions));
  return lines.flatMap((line, index) => {
    const value = changed.get(index);
    if (!changed.has(index)) return line;
    return value === undefined ? [] : withValue(line, value);
  });
}

function writeList(editor: Editor, { entry, ours, parts }: List): void {
  const value = listText([...ours, ...new Set(parts.map(({ id }) => id))]);
  const [first, ...others] = entry.items.get('acl')?.lines ?? [];
  const lines = editor.linesIn(entry);
  if (first === undefined) {
    const [, blanks = '', dash = ''] = /^(\s*)(-\s*)?/.exec(lines[entry.end - 1] ?? '') ?? [];
    editor.insert(entry, entry.end, `${blanks}${' '.repeat(dash.length)}acl: ${value}`);
  } else editor.replace(entry, first, first, [withValue(lines[first - 1] ?? '', value)]);
  for (const other of others) editor.replace(entry, other, other, []);
}

function withValue(line: string, value: string): string {
  return line.replace(ITEM, (_, name: string, rest: string) => `${name} ${value}${rest}`);
}

function listText(ids: readonly string[]): string {
  return `[${ids.map(idText).join(', ')}]`;
}

function idText(id: string): string {
  return /^[\w.-]+$/.test(id) ? id : quoted(id);
}
