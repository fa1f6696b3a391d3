import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRelativeName } from '../../src/core/text/dns-name.ts';
import {
  detectFormat,
  LIST_FORMATS,
  readTldList,
  type ListOptions,
} from '../../src/tlds/read-list.ts';
import { PUBLIC_SUFFIX_LIST, hasPublicSuffixList } from '../harness/public-suffix-list.ts';

const OPTIONS: ListOptions = { delimiter: ',', section: 'icann', wildcards: 'parent' };

const read = (
  format: (typeof LIST_FORMATS)[number],
  text: string,
  options: Partial<ListOptions> = {},
) => readTldList(text, format, { ...OPTIONS, ...options });

/** Generates text from characters that have a meaning in the formats. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\n',
        '\r\n',
        '\r',
        '"',
        '""',
        ',',
        '//',
        '#',
        '*.',
        '!',
        ' ',
        '.',
        'com',
        'рф',
      ),
      fc.string(),
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''));

describe('arbitrary text in any format', () => {
  test.each(LIST_FORMATS)(
    '%s: the reader never throws, and returns each entry and refusal once, in the order of lines',
    (format) => {
      fc.assert(
        fc.property(
          anyText,
          fc.constantFrom('icann', 'private', 'all'),
          fc.constantFrom('parent', 'skip', 'refuse'),
          (text, section, wildcards) => {
            const { entries, refused, leftOut } = read(format, text, { section, wildcards });
            const lines = text.split(/\r\n|\r|\n/);
            for (const list of [entries, refused]) {
              const numbers = list.map(({ line }) => line);
              expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
              for (const number of numbers) expect(lines[number - 1]?.trim()).not.toBe(undefined);
            }
            const all = [...entries, ...refused].map(({ line }) => line);
            expect(new Set(all).size).toBe(all.length);
            expect(all.length + leftOut).toBeLessThanOrEqual(lines.length);
            expect(new Set(entries.map(({ name }) => name.toLowerCase())).size).toBe(
              entries.length,
            );
          },
        ),
        { numRuns: 500 },
      );
    },
  );

  test('detects one of the formats', () => {
    fc.assert(fc.property(anyText, (text) => LIST_FORMATS.includes(detectFormat(text, ','))));
  });
});

describe('csv', () => {
  test('reads records that follow RFC 4180, with the line on which each record begins', () => {
    const field = fc.string({ maxLength: 20 }).map((text) => text.replaceAll('\r', ''));
    const delimiters = fc.constantFrom(',', ';', '\t', '|', '.', ']', '^', '\\');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(field, fc.option(field, { nil: undefined }), fc.boolean()), {
          maxLength: 20,
        }),
        delimiters,
        (records, delimiter) => {
          const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
          let line = 1;
          const lines = new Map<string, number>();
          const text = records
            .map(([name, description], index) => {
              const unique = `${index}${name}`;
              lines.set(unique, line);
              const record = [unique, ...(description === undefined ? [] : [description])]
                .map(quote)
                .join(delimiter);
              line += record.split('\n').length;
              return record;
            })
            .join('\n');
          const { entries, refused } = read('csv', text, { delimiter });
          expect(refused).toEqual([]);
          expect(entries.map((entry) => entry.line)).toEqual([...lines.values()]);
          expect(entries.map((entry) => entry.description)).toEqual(
            records.map(([, description]) => description),
          );
        },
      ),
    );
  });

  test('reads a name alone, an empty description, blanks and empty lines, with any line ending', () => {
    expect(read('csv', 'com\r\nnet,\n\n org ,x\rco.uk,"a ""b"", c\nd"\n').entries).toEqual([
      { line: 1, name: 'com' },
      { line: 2, name: 'net', description: '' },
      { line: 4, name: ' org ', description: 'x' },
      { line: 5, name: 'co.uk', description: 'a "b", c\nd' },
    ]);
  });

  test('reads quotation marks inside a field, and text after a closing quotation mark', () => {
    const { entries } = read('csv', 'a"b,"c"d"e\n"""x""",""\n""');
    expect(entries).toEqual([
      { line: 1, name: 'a"b', description: 'cd"e' },
      { line: 2, name: '"x"', description: '' },
      { line: 3, name: '' },
    ]);
  });

  test('refuses too many fields, unclosed quotation marks and repeated names', () => {
    const { entries, refused } = read('csv', 'com,Commercial\na,b,c\nCOM\n"open,\nnet');
    expect(entries).toEqual([{ line: 1, name: 'com', description: 'Commercial' }]);
    expect(refused).toEqual([
      { line: 2, text: 'a', reason: 'the line has 3 fields instead of one or two' },
      { line: 3, text: 'COM', reason: 'line 1 has the same name' },
      { line: 4, text: 'open,\nnet', reason: 'the closing quotation mark is missing' },
    ]);
  });

  test('refuses a description of 3,000 characters without a request to the service', () => {
    const { entries, refused } = read('csv', `com,${'x'.repeat(3000)}`);
    expect([entries, refused.map(({ line }) => line)]).toEqual([[], [1]]);
  });
});

const ID = '0b7e2c1a-5f7d-4c7c-9c3e-2f1d8a6b4c90';

describe('the output of a client', () => {
  const shown = (format: (typeof LIST_FORMATS)[number], text: string, delimiter = ',') => {
    const { entries, refused } = read(format, text, { delimiter });
    return [
      ...entries.map(({ line, name, description }) => `${line} ${name} ${description ?? '-'}`),
      ...refused.map(({ line, text: quoted, reason }) => `${line} ${quoted}: ${reason}`),
    ];
  };

  test.each([
    [`"id","name","description"\n"${ID}","com","Commercial"\n"${ID}","net",""\n`, ','],
    ['"name","description"\n"com","Commercial"\n"net","None"\n', ','],
    ['name,description\ncom,Commercial\nnet,None\n', ','],
    ['\uFEFFName;Description\r\ncom;Commercial\r\nnet;\r\n', ';'],
    [`description\tid\tname\nCommercial\t${ID}\tcom\n\t${ID}\tnet\n`, '\t'],
    [`id,name,description,created_at\n${ID},com,Commercial,x\n${ID},net,None,x\n`, ','],
  ])('csv: a header is recognised, and is no entry: %j', (text, delimiter) => {
    expect(detectFormat(text, delimiter)).toBe('csv');
    expect(shown('csv', text, delimiter)).toEqual(['2 com Commercial', '3 net -']);
    expect(read('csv', text, { delimiter }).hasHeader).toBe(true);
  });

  test.each([
    ['"name"\n"com"\n"net"\n', ['2 com -', '3 net -']],
    ["name,description\ncom,'=1+1\n", ['2 com =1+1']],
    ['id,name\nnot-an-id,com,Commercial\n', ['2 com: the line has 3 fields instead of 2']],
    ['id,description\n1,Commercial\n', ['1 id,description: the header names no column `name`']],
    ['name\ncom,x\n', ['2 com x', `1 name: this may be a header`]],
    ['tld,description\ncom,x\n', ['2 com x', `1 tld: this may be a header`]],
    // The second field is a description.
    ['name,For people\nnet,x\n', ['1 name For people', '2 net x']],
    [`${ID},com\nnet,x\n`, ['2 net x', `1 ${ID}: this is an id instead of a name`]],
  ])('csv: %j', (text, expected) => {
    const found = shown('csv', text).map((line) => line.replace(/;.*/, ''));
    expect(found).toEqual(expected);
  });

  test.each([
    [
      `[\n  { "id": "${ID}", "name": "com", "description": "a \\"name\\" {" },\n\n  { "description": null, "name": "рф" }\n]`,
      ['2 com a "name" {', '4 xn--p1ai -'],
    ],
    [
      '{"tlds": [\n{"name": "com", "links": {}},\n{"name": "net"}], "links": {}}',
      ['2 com -', '3 net -'],
    ],
    ['[{"name": "com"},\n{"id": "x"}]', ['1 com -', '2 {"id":"x"}: the member `name` is missing']],
    ['[]', []],
    ['[{"name": "com"}', ['1 [{"name": "com"}: the file is not JSON']],
    ['{"name": "com"}', ['1 {"name": "com"}: the file is not a list of top-level domains']],
  ])('json: %j', (text, expected) => {
    expect(detectFormat(text, ',')).toBe('json');
    expect(shown('json', text)).toEqual(expected);
  });

  test('plain: a header is refused, and the top-level domain of the same name is not', () => {
    for (const header of ['Name', 'tld', 'TLDs', 'domain', 'description'])
      expect(shown('plain', `${header}\ncom\n`)).toEqual([
        '2 com -',
        `1 ${header}: this may be a header; if it is the top-level domain, write it behind another one`,
      ]);
    expect(shown('plain', 'com\nname\n')).toEqual(['1 com -', '2 name -']);
    expect(shown('plain', 'name\n')).toEqual(['1 name -']);
    expect(shown('plain', `com\n${ID}\n`)).toEqual([
      '1 com -',
      `2 ${ID}: this is an id instead of a name`,
    ]);
  });
});

describe('plain and iana', () => {
  test('ignores comments, blanks, and dots at either end of a name, and converts names to A-labels', () => {
    const { entries } = read(
      'plain',
      '# all\n\n  com  # the first\n.net\norg.\n// more\nCo.Uk\nрф\na#b',
    );
    expect(entries).toEqual([
      { line: 3, name: 'com' },
      { line: 4, name: 'net' },
      { line: 5, name: 'org' },
      { line: 7, name: 'Co.Uk' },
      { line: 8, name: 'xn--p1ai' },
      { line: 9, name: 'a#b' },
    ]);
  });
});

const SMALL = `// A comment
// ===BEGIN ICANN DOMAINS===
com
*.ck   and what stands behind a blank
!www.ck
个人.hk
*.kw
kw
// ===END ICANN DOMAINS===
// ===BEGIN PRIVATE DOMAINS===
GitHub.io
*.a.*.example
// ===END PRIVATE DOMAINS===
extra`;

describe('psl', () => {
  const names = (options: Partial<ListOptions>) =>
    read('psl', SMALL, options).entries.map(({ line, name }) => `${line} ${name}`);

  test('reads the rules of the selected section, the rules outside sections, and the parents of wildcards', () => {
    expect(names({})).toEqual(['3 com', '4 ck', '6 xn--ciqpn.hk', '8 kw', '14 extra']);
    expect(names({ section: 'private' })).toEqual(['11 github.io', '14 extra']);
    expect(names({ section: 'all', wildcards: 'skip' })).toEqual([
      '3 com',
      '6 xn--ciqpn.hk',
      '8 kw',
      '11 github.io',
      '14 extra',
    ]);
  });

  test('imports, refuses or skips each rule', () => {
    expect(read('psl', SMALL).leftOut).toBe(4);
    const { refused } = read('psl', SMALL, { section: 'all', wildcards: 'refuse' });
    expect(refused.map(({ line, text }) => `${line} ${text}`)).toEqual([
      '4 *.ck',
      '7 *.kw',
      '12 *.a.*.example',
    ]);
  });

  test.runIf(hasPublicSuffixList())(
    'reads every rule of the Public Suffix List, apart from exceptions and wildcards, as a valid name',
    () => {
      const text = readFileSync(PUBLIC_SUFFIX_LIST, 'utf8');
      expect(detectFormat(text, ',')).toBe('psl');
      const rules = text.split('\n').filter((line) => line !== '' && !line.startsWith('//'));
      const wildcards = rules.filter((rule) => rule.startsWith('*.')).length;
      const exceptions = rules.filter((rule) => rule.startsWith('!')).length;
      const { entries, refused, leftOut } = read('psl', text, {
        section: 'all',
        wildcards: 'skip',
      });
      expect(entries.length).toBeGreaterThan(8000);
      expect({ count: entries.length + wildcards + exceptions, refused }).toEqual({
        count: rules.length,
        refused: [],
      });
      expect(leftOut).toBe(wildcards + exceptions);
      expect(
        entries.filter(({ name }) => !isRelativeName(name) || name !== name.toLowerCase()),
      ).toEqual([]);
    },
  );
});

test.each([
  ['# Version 2026112100, Last Updated Sat Nov 21 07:07:01 2026 UTC\nAAA', 'iana'],
  ['// com\ncom', 'psl'],
  ['com\n*.ck', 'psl'],
  ['com\n!www.ck', 'psl'],
  ['com,Commercial\nnet', 'csv'],
  ['"com"', 'csv'],
  ['com\nnet,"Networks"', 'csv'],
  ['com # the first, and largest\nnet', 'plain'],
  ['com\nnet', 'plain'],
  ['# a comment, with a comma\ncom', 'plain'],
  ['', 'plain'],
])('in the text %j, detects the format %s', (text, format) => {
  expect(detectFormat(text, ',')).toBe(format);
});
