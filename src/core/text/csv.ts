/** `line` is where it begins. `open` is true if the file ends inside quotation marks. */
interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
  readonly open: boolean;
}

/** What is wrong with a record that is `open`. */
export const UNCLOSED = 'the closing quotation mark is missing';

/**
 * Returns the records of a CSV text (RFC 4180), without empty lines. As in other CSV parsers, a
 * quotation mark inside an unquoted field is literal. Text after a closing quotation mark belongs
 * to the field.
 */
export function readRecords(text: string, delimiter: string): CsvRecord[] {
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

/** Returns what is wrong with a record below a header with these columns, or undefined. */
export function problemBelow(
  columns: readonly string[],
  { fields, open }: CsvRecord,
): string | undefined {
  if (open) return UNCLOSED;
  return fields.length === columns.length
    ? undefined
    : `the line has ${fields.length} fields instead of ${columns.length}`;
}

/** Returns a field without the apostrophe that keeps spreadsheets from running it as a formula. */
export function withoutFormulaMark(field: string): string {
  return field.replace(/^'(?=[=+\-@\t\r\n＝＋－＠])/, '');
}
