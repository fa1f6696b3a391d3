import { columnsOf, entryIn } from './columns.ts';
import { asciiForm, type ListEntry, type RefusedLine, type TldList } from './list.ts';

/**
 * One record of a CSV file, and the line on which it begins. `open` is true if the file ends inside
 * quotation marks.
 */
interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
  readonly open: boolean;
}

/** The only column of the output of a client, which quotes all values. */
const QUOTED_NAME = /^"name"(?:\r?\n|\r|$)/i;

/**
 * Reads a CSV file: the output of `tsigil tld list` or `openstack tld list` with its header, or the
 * format of `designate-manage tlds import`.
 */
export function readCsv(given: string, delimiter: string): TldList {
  const text = given.replace(/^\uFEFF/, '');
  const [first, ...others] = readRecords(text, delimiter);
  const columns =
    first && (QUOTED_NAME.test(text) ? ['name'] : first.open ? undefined : columnsOf(first.fields));
  if (first === undefined || columns === undefined) return readDesignateCsv(text, delimiter);
  const [nameAt, descriptionAt] = [columns.indexOf('name'), columns.indexOf('description')];
  if (nameAt < 0) {
    const { line, fields } = first;
    const reason = 'the header names no column `name`';
    return { entries: [], refused: [{ line, text: fields.join(delimiter), reason }], leftOut: 0 };
  }
  const entries: ListEntry[] = [];
  const refused: RefusedLine[] = [];
  for (const { line, fields, open } of others) {
    const problem = open
      ? UNCLOSED
      : fields.length === columns.length
        ? undefined
        : `the line has ${fields.length} fields instead of ${columns.length}`;
    const name = fields[nameAt] ?? '';
    if (problem === undefined) entries.push(entryIn(line, name, fields[descriptionAt]));
    else refused.push({ line, text: name, reason: problem });
  }
  return { entries, refused, leftOut: 0, hasHeader: true };
}

const UNCLOSED = 'the closing quotation mark is missing';

/**
 * Reads a name, or a name and a description, without a header. An empty description is a value, and
 * a missing description is undefined. Blanks are part of the value. Non-ASCII names become A-labels.
 */
function readDesignateCsv(text: string, delimiter: string): TldList {
  const entries: ListEntry[] = [];
  const refused: RefusedLine[] = [];
  for (const { line, fields, open } of readRecords(text, delimiter)) {
    const [name = '', description] = fields;
    const problem = open
      ? UNCLOSED
      : fields.length > 2
        ? `the line has ${fields.length} fields instead of one or two`
        : undefined;
    if (problem !== undefined) refused.push({ line, text: name, reason: problem });
    else
      entries.push({
        line,
        name: asciiForm(name),
        ...(description === undefined ? {} : { description }),
      });
  }
  return { entries, refused, leftOut: 0 };
}

/**
 * Returns the records of a CSV text (RFC 4180), without empty lines. As in other CSV parsers, a
 * quotation mark inside an unquoted field is literal. Text after a closing quotation mark belongs
 * to the field.
 */
function readRecords(text: string, delimiter: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start'; // the state of the current field
  let fields: string[] = [];
  let field = '';
  let line = 1;
  let began = 1;
  const endRecord = () => {
    if (fields.length > 0 || state !== 'start')
      records.push({ line: began, fields: [...fields, field], open: state === 'quoted' });
    [state, fields, field] = ['start', [], ''];
  };
  for (const character of text.replaceAll(/\r\n?/g, '\n')) {
    if (character === '\n') line += 1;
    if (character === '"' && state !== 'plain') {
      if (state === 'closed') field += '"';
      state = state === 'quoted' ? 'closed' : 'quoted';
    } else if (state === 'quoted') {
      field += character;
    } else if (character === '\n') {
      endRecord();
      began = line;
    } else if (character === delimiter) {
      fields.push(field);
      [state, field] = ['start', ''];
    } else {
      field += character;
      state = 'plain';
    }
  }
  endRecord();
  return records;
}
