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
});
