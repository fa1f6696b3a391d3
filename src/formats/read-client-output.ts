import { normaliseUuid } from '../core/field.ts';
import { problemBelow, readRecords, withoutFormulaMark } from '../core/text/csv.ts';
import { looksLikeJson, memberOf, readJsonItems } from '../core/text/json.ts';
import { entryOf, KeyFileError, type Entry, type KeyReader } from './reader.ts';

/** What clients print instead of a secret that the token may not see, or that they hide. */
const NO_SECRET = ['', 'None', '(hidden)'];

/**
 * The output of a command line client of this API, or of Designate's: keys with their scopes, which
 * only such an output has.
 */
export const CLIENT_FORMATS: Readonly<Record<'csv' | 'json', KeyReader>> = {
  json: {
    source: 'openstack tsigkey list -f json, tsigil tsigkey list --reveal -f json',
    statesScopes: true,
    read: readJson,
  },
  csv: {
    source: 'openstack tsigkey list -f csv, tsigil tsigkey list --reveal -f csv',
    statesScopes: true,
    read: readCsv,
  },
};

export function detectClientFormat(text: string): 'csv' | 'json' | undefined {
  if (looksLikeJson(text)) return 'json';
  const [first] = readRecords(/^\uFEFF?([^\r\n]*)/.exec(text)?.[1] ?? '', ',');
  const columns = columnsIn(first?.fields ?? []);
  const isCsv = ['name', 'algorithm', 'scope'].every((column) => columns.includes(column));
  return isCsv ? 'csv' : undefined;
}

/** Reads an array of keys, or an object with this array as `tsigkeys`, as the API returns it. */
function readJson(text: string): Entry[] {
  const read = readJsonItems(text, 'tsigkeys', 'this is not a list of TSIG keys');
  if ('problem' in read) throw new KeyFileError({ line: 1 }, read.problem);
  return read.items.map(({ line, item }) => entryIn(line, (name) => memberOf(item, name)));
}

function readCsv(text: string): Entry[] {
  const [header, ...records] = readRecords(text.replace(/^\uFEFF/, ''), ',');
  if (header === undefined) return [];
  const columns = columnsIn(header.fields);
  return records.map((record) => {
    const problem = problemBelow(columns, record);
    if (problem !== undefined) return { line: record.line, problem };
    return entryIn(record.line, (name) =>
      withoutFormulaMark(record.fields[columns.indexOf(name)] ?? ''),
    );
  });
}

function columnsIn(fields: readonly string[]): string[] {
  return fields.map((field) => field.trim().toLowerCase());
}

/** Returns the entry of a row. A row without a scope is refused, because a guess could widen it. */
function entryIn(line: number, cell: (column: string) => unknown): Entry {
  const textOf = (column: string) => {
    const value = cell(column);
    return typeof value === 'string' ? value : '';
  };
  const [name, secret] = [textOf('name'), textOf('secret')];
  const refused = (problem: string): Entry => ({
    line,
    problem: name === '' ? problem : `${name}: ${problem}`,
  });
  if (NO_SECRET.includes(secret))
    return refused('the row has no secret; list the keys with a token that may see secrets');
  const [scope, resourceId] = [textOf('scope'), normaliseUuid(textOf('resource_id'))];
  if ((scope !== 'POOL' && scope !== 'ZONE') || resourceId === undefined)
    return refused('the row needs a scope, POOL or ZONE, and the id of its pool or zone');
  const parts = {
    ...(name === '' ? {} : { name }),
    ...(textOf('algorithm') === '' ? {} : { algorithm: textOf('algorithm') }),
    secret,
  };
  const entry = entryOf({ line }, parts, true);
  return 'key' in entry ? { ...entry, appliesTo: { scope, resourceId } } : entry;
}
