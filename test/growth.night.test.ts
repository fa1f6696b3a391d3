import { describe, test } from 'vitest';
import { asciiName } from '../src/cli/flags/names.ts';
import { detectFormat, LIST_FORMATS, readTldList } from '../src/tlds/read-list.ts';
import { MAX_LIST_BYTES } from '../src/core/settings.ts';
import { readId } from '../src/resources/operations/collection.ts';
import * as names from '../src/core/text/dns-name.ts';
import { normaliseUuid, parseTimestamp } from '../src/core/field.ts';
import { RESOURCE_TYPES } from '../src/resources/resources.ts';
import { zoneNameProblem } from '../src/resources/zone-fields.ts';
import { parseAndCheck } from '../src/http/request/json-body.ts';
import { checkShape, LONG_BODY } from '../src/http/request/json-shape.ts';
import { pathAndQuery, readParameters, withParameters } from '../src/http/request/urls.ts';
import { runOnLarge, HARD_TEXTS, HARD_VALUES } from './harness/growth.ts';

/** Four times the maximum size of an ordinary body, in bytes. Quadratic work takes minutes. */
const BODY = 4 * 114_688;

async function eachText(size: number, work: (text: string) => unknown): Promise<void> {
  for (const make of Object.values(HARD_TEXTS)) await runOnLarge(make(size), work);
}

/** Reads a body as the service does: `checkShape` refuses shapes that would take long to parse. */
const readAll = (bytes: Buffer) => [...checkShape(bytes, LONG_BODY), ...parseAndCheck(bytes)];

describe('a large text is parsed before quadratic work would end', () => {
  test.each(
    Object.entries(names).flatMap(([name, work]) =>
      typeof work === 'function' ? [{ name, work }] : [],
    ),
  )('in $name', async ({ work }) => {
    await eachText(BODY, work);
  });

  test.each<[string, (text: string) => unknown]>([
    ['a zone name', zoneNameProblem],
    ['an id', normaliseUuid],
    ['an id in a path', (text) => readId(RESOURCE_TYPES[0], text)],
    ['a timestamp', parseTimestamp],
    ['a request target', pathAndQuery],
    ['a query string', (text) => readParameters(`/?${text}`)],
    ['the link of a list', (text) => withParameters('/', [[text, text]])],
    ['a name on the command line', asciiName],
    ['a list whose form must be found out', (text) => detectFormat(text, ',')],
    ...LIST_FORMATS.map((format): [string, (text: string) => unknown] => [
      `a list in the form ${format}`,
      (text) => readTldList(text, format, { delimiter: ',', section: 'all', wildcards: 'parent' }),
    ]),
  ])('in %s', async (_label, work) => {
    await eachText(BODY, work);
  });

  test('in a body that is parsed as JSON', async () => {
    for (const wrap of [
      JSON.stringify,
      (text: string) => `{"a":${JSON.stringify(text)},"b:":${JSON.stringify(text)}}`,
      (text: string) => text,
    ]) {
      await eachText(MAX_LIST_BYTES / 2, (text) => readAll(Buffer.from(wrap(text))));
    }
    for (const make of Object.values(HARD_VALUES)) {
      const text = JSON.stringify({ 'a:': make(MAX_LIST_BYTES) });
      await runOnLarge(Buffer.from(text), readAll);
    }
    for (const [open, close] of [
      ['[', ']'],
      ['{"a:":', '}'],
    ] as const) {
      const depth = MAX_LIST_BYTES / 8;
      await runOnLarge(Buffer.from(`${open.repeat(depth)}0${close.repeat(depth)}`), readAll);
    }
    const blanks = ' '.repeat(MAX_LIST_BYTES / 2);
    await runOnLarge(Buffer.from(`["a"${blanks},":"${blanks}]`), readAll);
    const doubled = '"a:":0,'.repeat(MAX_LIST_BYTES / 7);
    await runOnLarge(Buffer.from(`{${doubled}"b":0}`), readAll);
  });
});
