import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { displayWidth } from '../../src/cli/output/table.ts';
import { openScreen, type Screen } from '../harness/screen.ts';
import {
  PROGRAM,
  startTestService,
  temporaryFolder,
  type TestService,
} from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const NODE = `'${process.execPath}'`;
const DESCRIPTIONS = [
  'Commercial',
  '日本語の説明：トップレベルドメイン',
  'Ünïcödé with a combining e\u0301, and so long that it goes on well past the edge of a narrow terminal',
  'two people 👩‍👧 and a party 🎉',
  'عربي',
  'forged | row \u202eand \x1b[2J controls',
  'x'.repeat(160),
];

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  for (const [index, description] of DESCRIPTIONS.entries())
    await service.post('/v2/tlds', { name: `sample-${index}`, description });
});

function open(columns: number, rows: number, command: string): Screen {
  const folder = temporaryFolder();
  const screen = openScreen(
    folder,
    columns,
    rows,
    service.variables,
    `sh -c "${command}; echo; echo ended \\$?; sleep 100"`,
  );
  onTestFinished(() => screen.close());
  return screen;
}

describe.runIf(hasProgram('tmux', 'tmux'))('on a real terminal', () => {
  test.each([80, 200])(
    'a table has an unbroken frame at %i columns, with any content',
    async (columns) => {
      const text = await open(
        columns,
        50,
        `${NODE} '${PROGRAM}' tld list --name 'sample-*' --sort name`,
      ).waitFor(/ended 0/);
      const lines = text.split('\n').filter((line) => /^[+|]/.test(line));
      expect(lines[0]?.length).toBeLessThanOrEqual(columns);
      for (const line of lines) {
        expect(line).toMatch(/^[+|].*[+|]$/);
        // tmux may combine characters that it cannot show. The width of lines with Arabic letters
        // or emoji is therefore not known.
        if (!/[\u0600-\u06ff]|\p{Emoji_Presentation}/u.test(line))
          expect(displayWidth(line)).toBe(lines[0]?.length);
      }
      expect(text).toContain('日本語の説明：トップレベル');
      expect(text).toContain('forged | row \\u202e');
      if (columns === 200) expect(text).toContain('Ünïcödé with a combining');
    },
  );

  test('a table of 1,500 rows has no line wider than the terminal', async () => {
    const many = await startTestService();
    const create = (number: number) =>
      many.post('/v2/tlds', {
        name: `n-${number}`,
        description: DESCRIPTIONS[number % DESCRIPTIONS.length],
      });
    for (let start = 0; start < 1500; start += 100)
      await Promise.all(Array.from({ length: 100 }, (_, index) => create(start + index)));
    const flags = `--url ${many.url} --token-file token --sort name`;
    const screen = open(
      80,
      40,
      `printf '${many.token}' > token; ${NODE} '${PROGRAM}' tld list ${flags}`,
    );
    const text = await screen.waitFor(/ended 0/);
    const lines = text.split('\n').slice(0, -2);
    expect(text).toContain('| n-999 ');
    expect(lines.filter((line) => line !== '' && !/^[+|].*[+|]$/.test(line))).toEqual([]);
  });

  test('a progress bar uses one line, and disappears before the next line is printed', async () => {
    const folder = temporaryFolder();
    const script = join(folder, 'work.mjs');
    // The script waits for a key press at 50 %, so that the test can read the bar.
    writeFileSync(
      script,
      `import { startProgress } from ${JSON.stringify(join(PROGRAM, '../cli/output/progress.js'))};
      let now = 0;
      const bar = startProgress(process.stderr, 'Importing', 10000, () => now);
      for (let step = 0; step < 50; step += 1) { now += 100; bar.advance(100); }
      process.stdin.setRawMode(true).once('data', () => { bar.stop(); console.log('5000 imported'); process.exit(); });`,
    );
    const screen = open(80, 10, `${NODE} ${script}`);
    expect(await screen.waitFor(/50%/)).toBe(
      'Importing [=============>            ]  50% 5,000 of 10,000, 1,000/s, 0:05 left',
    );
    screen.type('Enter');
    const text = await screen.waitFor(/ended 0/);
    expect(text).toMatch(/^5000 imported\n/m);
    expect(text).not.toContain('Importing');
  });
});
