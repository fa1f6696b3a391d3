import { problemBelow, readRecords, UNCLOSED } from '../core/text/csv.ts';
import { columnsOf, entryIn } from './columns.ts';
import { asciiForm, type ListEntry, type RefusedLine, type TldList } from './list.ts';

/** The only column of the output of a client, which quotes all values. */
const QUOTED_NAME = /^"name"(?:\r?\n|\r|$)/i;

/**
 * Reads a CSV file: the output of `tsigil tld list` or `openstack tld list` with its header, or the
 * format of `designate-manage tlds import`.
 */
export function readCsv(given: string, delimiter: string): TldList {
  const text = given.replace(/^\uFEFF/, '');
  const [first, ...others] = readRecords(text, delimiter);
  if (first === undefined) return readDesignateCsv(text, delimiter);
  const stated = first.open ? undefined : columnsOf(first.fields);
  const columns = QUOTED_NAME.test(text) ? ['name'] : stated;
  if (columns === undefined) return readDesignateCsv(text, delimiter);
  const [nameAt, descriptionAt] = [columns.indexOf('name'), columns.indexOf('description')];
  if (nameAt < 0) {
    const { line, fields } = first;
    const reason = 'the header names no column `name`';
    return { entries: [], refused: [{ line, text: fields.join(delimiter), reason }], leftOut: 0 };
  }
  const entries: ListEntry[] = [];
  const refused: RefusedLine[] = [];
  for (const record of others) {
    const { line, fields } = record;
    const problem = problemBelow(columns, record);
    const name = fields[nameAt] ?? '';
    if (problem === undefined) entries.push(entryIn(line, name, fields[descriptionAt]));
    else refused.push({ line, text: name, reason: problem });
  }
  return { entries, refused, leftOut: 0, hasHeader: true };
}

/**
 * Reads a name, or a name and a description, without a header. An empty description is a value, and
 * a missing description is undefined. Blanks are part of the value. Non-ASCII names become A-labels.
 */
function readDesignateCsv(text: string, delimiter: string): TldList {
  const entries: ListEntry[] = [];
  const refused: RefusedLine[] = [];
  for (const { line, fields, open } of readRecords(text, delimiter)) {
    const [name = '', description] = fields;
    const wrong =
      fields.length > 2 ? `the line has ${fields.length} fields instead of one or two` : undefined;
    const problem = open ? UNCLOSED : wrong;
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
