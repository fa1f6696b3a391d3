import { describe, test } from 'vitest';
import { asciiName } from '../../src/cli/flags/names.ts';
import { detectFormat, LIST_FORMATS, readTldList } from '../../src/domain/tld-lists/read-list.ts';
import { readCreation } from '../../src/domain/operations/body.ts';
import { readActionBody } from '../../src/domain/actions/action.ts';
import { BULK_BODY, MAX_LIST_BYTES } from '../../src/domain/actions/bulk-request.ts';
import { readId } from '../../src/domain/operations/collection.ts';
import * as names from '../../src/domain/text/dns-name.ts';
import { normaliseUuid, parseTimestamp } from '../../src/domain/model/field.ts';
import { readListRequest, type Parameter } from '../../src/domain/operations/list-query.ts';
import { RESOURCE_TYPES } from '../../src/domain/resources/resources.ts';
import { givenFields } from '../../src/domain/model/resource.ts';
import { zoneNameProblem } from '../../src/domain/resources/zone-fields.ts';
import { NAMES_BODY } from '../../src/domain/actions/zone-name-check.ts';
import { parseAndCheck } from '../../src/http/request/json-body.ts';
import { checkShape, LONG_BODY } from '../../src/http/request/json-shape.ts';
import { pathAndQuery, readParameters, withParameters } from '../../src/http/request/urls.ts';
import { SETTINGS } from '../harness/dependencies.ts';
import { runOnLarge, HARD_TEXTS, HARD_VALUES } from '../harness/growth.ts';

/** Four times the maximum size of an ordinary body, in bytes. Quadratic work takes minutes. */
const BODY = 4 * 114_688;

/** A size above the default maximum of a head, in bytes. */
const HEAD = 512 * 1024;

const RESTRICTED = {
  ...SETTINGS,
  strictTsigkeys: true,
  requireResource: true,
  tldRule: 'any-suffix',
  otherAdministrators: false,
} as const;

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
    for (const [, make] of Object.entries(HARD_VALUES).filter(
      ([kind]) => !kind.endsWith('in objects') && !kind.endsWith('in arrays'),
    )) {
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

describe.each(RESOURCE_TYPES.map((type) => ({ type, collection: type.collection })))(
  'a large input for $collection is read before quadratic work would end',
  ({ type }) => {
    test.each(givenFields(type))('in the member %s', async (name) => {
      const body = (value: unknown) => readCreation(type, { [name]: value }, RESTRICTED);
      await eachText(BODY, body);
      for (const make of Object.values(HARD_VALUES)) await runOnLarge(make(BODY), body);
      const list = (text: string) => body([text, text]);
      await eachText(BODY, list);
      await eachText(BODY, (text) => body({ [text]: text, priority: 1, hostname: text }));
      await eachText(BODY, (text) => body([{ priority: 1, hostname: text }]));
    });

    test('in a body of unknown members', async () => {
      for (const make of Object.values(HARD_VALUES))
        await runOnLarge(make(BODY), (value) => readCreation(type, value, RESTRICTED));
    });

    test('in the parameters of a list', async () => {
      const known = [
        ...Object.keys(type.filters),
        ...Object.keys(type.computedFilters ?? {}),
        'limit',
        'marker',
        'sort_key',
        'sort_dir',
      ];
      for (const name of known)
        await eachText(HEAD, (text) => readListRequest(type, [[name, text]], 1000));
      const [first = '', second = ''] = known;
      const many: Readonly<Record<string, (size: number) => Parameter[]>> = {
        'one filter': (size) => Array.from({ length: size / 5 }, () => [first, '*']),
        'one filter behind another': (size) =>
          Array.from({ length: size / 5 }, (_, index) => [index < size / 10 ? first : second, '*']),
        'unknown filters': (size) =>
          Array.from({ length: size / 8 }, (_, index) => [`f${index}`, '']),
        limits: (size) => Array.from({ length: size / 8 }, () => ['limit', '1']),
      };
      for (const make of Object.values(many))
        await runOnLarge(make(HEAD), (parameters) => readListRequest(type, parameters, 1000));
    });
  },
);

describe('a request with many items is read before quadratic work would end', () => {
  test('in the names that a caller checks', async () => {
    await eachText(BODY, (text) =>
      readActionBody(NAMES_BODY, { names: [text] }).names.map(zoneNameProblem),
    );
    for (const make of Object.values(HARD_VALUES))
      await runOnLarge(make(BODY), (names) => readActionBody(NAMES_BODY, { names }));
  });

  test('in the options of a bulk request', async () => {
    for (const make of Object.values(HARD_VALUES)) {
      await runOnLarge(make(MAX_LIST_BYTES), (value) => readActionBody(BULK_BODY, value));
      for (const name of ['replace', 'dry_run', 'tlds']) {
        await runOnLarge(make(MAX_LIST_BYTES), (value) =>
          readActionBody(BULK_BODY, { [name]: value }),
        );
      }
    }
  });
});
