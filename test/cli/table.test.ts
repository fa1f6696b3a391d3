import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { FORMATS, formatItem, formatList } from '../../src/cli/output/output.ts';
import { displayWidth, drawTable } from '../../src/cli/output/table.ts';
import { textStyleOf } from '../../src/cli/output/terminal.ts';
import { randomCases } from '../harness/sizes.ts';

const style = (width: number) => ({ decorated: true, colours: false, width });
const PIPE = { decorated: false, colours: false, width: Infinity };
const ID = '794ccc2c-d751-44fe-b57f-8894c9f5c842';

describe('the width of text on a terminal', () => {
  test.each([
    ['', 0],
    ['com', 3],
    ['Ünïcödé', 7],
    ['e\u0301', 1],
    ['日本語', 6],
    ['ﾊﾝｶｸ', 4],
    ['한국어', 6],
    ['\u1112\u1161\u11ab', 2],
    ['🎉', 2],
    ['👩\u200d👩\u200d👧', 2],
    ['🇩🇪', 2],
    ['a\u200bb', 2],
    ['عربي', 4],
  ])('%j has %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('tables', () => {
  test('a table wraps long text at blanks and does not break ids', () => {
    const table = drawTable(
      ['id', 'description'],
      [[ID, 'a description that is longer than what is left of the line']],
      style(64),
    );
    expect(table.split('\n').slice(3, 6)).toEqual([
      `| ${ID} | a description that is |`,
      `| ${' '.repeat(36)} | longer than what is   |`,
      `| ${' '.repeat(36)} | left of the line      |`,
    ]);
  });

  test('a table shows a block for each row if the ids do not fit, and never breaks an id', () => {
    const rule = `+-------------+${'-'.repeat(38)}+`;
    const block = [`| id          | ${ID} |`, `| resource_id | ${ID} |`, rule];
    expect(
      drawTable(
        ['id', 'resource_id'],
        [
          [ID, ID],
          [ID, ID],
        ],
        style(60),
      ),
    ).toBe(`${[rule, ...block, ...block].join('\n')}\n`);
    const keystoneId = '0123456789abcdef0123456789abcdef';
    expect(drawTable(['id', 'project_id'], [[ID, keystoneId]], style(60))).toContain(
      `| ${keystoneId}     |`,
    );
  });

  test('a table contains all text, and no line is longer than the terminal', () => {
    const cell = fc
      .oneof(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.lorem({ maxCount: 20 }))
      .map((text) => text.replaceAll(/[\p{C}\s|]+/gu, ' '));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { maxLength: 5 }),
        fc.integer({ min: 40, max: 200 }),
        (rows, width) => {
          const lines = drawTable(['one', 'two', 'three'], rows, style(width))
            .trimEnd()
            .split('\n');
          const squeeze = (text: string) => text.replaceAll(' ', '');
          for (const line of lines) expect(displayWidth(line)).toBe(displayWidth(lines[0] ?? ''));
          expect(displayWidth(lines[0] ?? '')).toBeLessThanOrEqual(width);
          const columns = [0, 1, 2].map((index) =>
            lines
              .slice(3)
              .map((line) => line.split('|')[index + 1] ?? '')
              .join(''),
          );
          expect(columns.map(squeeze)).toEqual(
            [0, 1, 2].map((index) => squeeze(rows.map((row) => row[index]).join(''))),
          );
        },
      ),
    );
  });
});

describe('formats', () => {
  const items = [
    {
      name: 'a "b", c',
      description: 'one\ntwo',
      list: ['x', 'y'],
      map: { tier: 'gold' },
      records: [{ priority: 1, hostname: 'ns1.' }],
      none: null,
    },
  ];
  const columns = ['name', 'description', 'list', 'map', 'records', 'none'];

  test('csv quotes values that contain a comma, a quotation mark or a line feed', () => {
    expect(formatList(items, columns, { format: 'csv' }, PIPE)).toBe(
      'name,description,list,map,records,none\n"a ""b"", c","one\ntwo","x, y",tier:gold,1:ns1.,\n',
    );
  });

  test('in a pipe, value and table write each row on one line', () => {
    expect(formatList(items, columns, { format: 'value' }, PIPE)).toBe(
      'a "b", c one\\ntwo x, y tier:gold 1:ns1. \n',
    );
    expect(formatItem(items[0] ?? {}, ['description'], {}, PIPE)).toBe(
      'Field\tValue\ndescription\tone\\ntwo\n',
    );
  });

  test('a cell omits members of an object without a value', () => {
    const items = [{ evidence: { problem: null, since: '2030', shown: [] } }];
    expect(formatList(items, ['evidence'], { format: 'value' }, PIPE)).toBe('since:2030\n');
  });

  test('no format prints control characters or bidirectional controls of a value', () => {
    const nasty = '\x1b[2J\u009b31m\u202efdp.exe\u2066\r\u200f';
    const items = [{ name: nasty, attributes: { [nasty]: nasty }, text: `one\n${nasty}` }];
    for (const format of FORMATS) {
      for (const each of [PIPE, style(80)]) {
        const columns = Object.keys(items[0] ?? {});
        const printed =
          formatItem(items[0] ?? {}, columns, { format }, each) +
          formatList(items, columns, { format }, each);
        expect(printed.replaceAll(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\u202e\u2066\u200f]/u);
      }
    }
  });

  const expectExact = (name: string, value: string) => {
    const item = { name: value, map: { [name]: value }, list: [value] };
    const print = (format: 'json' | 'yaml') =>
      Buffer.from(formatItem(item, Object.keys(item), { format }, PIPE)).toString();
    expect(JSON.parse(print('json'))).toEqual(item);
    expect(parse(print('yaml'))).toEqual(item);
  };

  test('json and yaml are exact for any text', () => {
    const marks = 'a \n\t\x1b\u009b\u2028\u202e\'"\\:-#|>?%&*!~0.[]{},';
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...marks.split('')) }),
      fc.string({ unit: fc.integer({ max: 0xffff, min: 0 }).map((u) => String.fromCharCode(u)) }),
    );
    fc.assert(fc.property(text, text, expectExact), { numRuns: randomCases(2000) });
  });

  test.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\\t=1"],
    ['\r=1', "'\\r=1"],
    ['＝1', "'＝1"],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ['a=1', 'a=1'],
    ['', ''],
    [-5, '-5'],
  ])('csv escapes %j so that no spreadsheet evaluates it', (value, cell) => {
    expect(formatList([{ value }], ['value'], { format: 'csv' }, PIPE)).toBe(`value\n${cell}\n`);
  });
});

test('lines in a pipe are never wrapped, even if COLUMNS is set', () => {
  const style = textStyleOf({ write: () => undefined }, { COLUMNS: '20' });
  const text = 'word '.repeat(100).trim();
  expect(formatList([{ text }], ['text'], { format: 'table' }, style)).toContain(`| ${text} |`);
});

describe('colours', () => {
  test.each([
    ['are on for a terminal', { isTTY: true, columns: 80 }, {}, true],
    ['are off in a pipe', {}, {}, false],
    ['are off with NO_COLOR', { isTTY: true, columns: 80 }, { NO_COLOR: '1' }, false],
    ['are on with an empty NO_COLOR', { isTTY: true, columns: 80 }, { NO_COLOR: '' }, true],
    [
      'are off on a terminal without colours',
      { isTTY: true, columns: 80 },
      { TERM: 'dumb' },
      false,
    ],
  ])('%s', (_, stream, environment, colours) => {
    const write = () => undefined;
    const chosen = textStyleOf({ ...stream, write }, environment);
    expect(chosen.colours).toBe(colours);
    expect(drawTable(['id'], [], chosen).includes('\x1b[1m')).toBe(colours);
  });
});
