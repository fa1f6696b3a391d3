import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openScreen, type Screen } from '../harness/screen.ts';
import { cleanEnvironment, PROGRAM, temporaryFolder } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { runInside } from './session.ts';

const folder = temporaryFolder();
beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, out } = await runInside({}, 'completion', shell);
    expect(status).toBe(0);
    writeFileSync(join(folder, `_tsigil.${shell}`), out);
  }
  writeFileSync(join(folder, 'a-file.pem'), '');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    join(folder, 'bin/tsigil'),
    `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`,
  );
  chmodSync(join(folder, 'bin/tsigil'), 0o755);
});

/** Command lines, with words that are offered for the last word and words that are not offered. */
const CASES: readonly (readonly [
  line: string,
  offered: readonly string[],
  not: readonly string[],
])[] = [
  [
    'tsigil ',
    ['serve', 'tld', 'tsigkey', 'zone', 'pool', 'token', 'completion'],
    ['create', 'list'],
  ],
  ['tsigil tld ', ['create', 'list', 'show', 'set', 'delete'], ['serve', 'revoke']],
  [
    'tsigil token create --',
    ['--name', '--role', '--project', '--expires'],
    ['--roles', '--expires-at', '--limit'],
  ],
  ['tsigil tsigkey create --al', ['--algorithm'], ['--name', '--all-projects']],
  ['tsigil zone ls --al', ['--all-projects'], ['--name']],
  ['tsigil help tsigkey ver', ['verify'], ['create']],
  [
    'tsigil tsigkey create --algorithm ',
    ['hmac-md5', 'hmac-sha256', 'hmac-sha512'],
    ['--name', 'create'],
  ],
  ['tsigil tsigkey create --algorithm hmac-sha256 --scope ', ['POOL', 'ZONE'], ['hmac-md5']],
  ['tsigil zone list --format j', ['json'], ['yaml']],
  ['tsigil tld list --cacert a-f', ['a-file.pem'], ['--format']],
  ['tsigil completion ', ['bash', 'zsh', 'fish'], ['serve']],
  ['tsigil tld create --name list --', ['--description'], ['--limit']],
];

const PATH = `${folder}/bin:${process.env.PATH}`;

function offers(program: string, ...parameters: string[]): string[] {
  const { status, stdout, stderr } = spawnSync(program, parameters, {
    cwd: folder,
    encoding: 'utf8',
    env: cleanEnvironment({ HOME: folder, LC_ALL: 'C.UTF-8', PATH }),
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.split('\n').filter(Boolean);
}

function expectOffers(
  words: readonly string[],
  offered: readonly string[],
  not: readonly string[],
): void {
  expect(words).toEqual(expect.arrayContaining([...offered]));
  expect(words.filter((word) => not.includes(word))).toEqual([]);
}

/** Opens a shell in a terminal that closes at the end of the test. */
function openShell(home: string, command: string, more: Record<string, string> = {}): Screen {
  const screen = openScreen(home, 100, 20, { ...more, PATH }, command);
  onTestFinished(() => screen.close());
  return screen;
}

describe.runIf(hasProgram('bash', 'bash'))('bash', () => {
  const complete = (line: string) => {
    const words = line.split(' ').map((word) => `'${word}'`);
    const script = `. ./_tsigil.bash
      complete -p tsigil > /dev/null || exit 1
      COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}
      COMP_LINE='${line}'; COMP_POINT=${line.length}
      _tsigil; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return offers('bash', '--norc', '-c', script);
  };

  test.each(CASES)('completes %j', (line, offered, not) =>
    expectOffers(complete(line), offered, not),
  );

  test.runIf(hasProgram('tmux', 'tmux'))(
    'completes a command line in a terminal when the user presses Tab',
    async () => {
      const screen = openShell(temporaryFolder(), 'bash --norc');
      screen.type(`. ${folder}/_tsigil.bash; PS1='> '; clear`, 'Enter');
      await screen.waitFor(/^>$/);
      screen.type('tsigil tsigk', 'Tab', 'cr', 'Tab', '--res', 'Tab');
      await screen.waitFor(/tsigil tsigkey create --resource-id/);
    },
  );
});

describe.runIf(hasProgram('fish', 'fish'))('fish', () => {
  const complete = (line: string) =>
    offers('fish', '--no-config', '-c', `source _tsigil.fish; complete -C '${line}'`).map(
      (word) => word.split('\t')[0] ?? '',
    );

  test.each(CASES)('completes %j', (line, offered, not) =>
    expectOffers(complete(line), offered, not),
  );
});

describe.runIf([hasProgram('zsh', 'zsh'), hasProgram('tmux', 'tmux')].every(Boolean))('zsh', () => {
  test.each([
    ['tsigil tsigk', 'tsigil tsigkey'],
    ['tsigil tsigkey create --res', 'tsigil tsigkey create --resource-id'],
    [
      'tsigil tsigkey create --algorithm hmac-sha38',
      'tsigil tsigkey create --algorithm hmac-sha384',
    ],
    [
      'tsigil tld list --cacert ../completion/a-f',
      'tsigil tld list --cacert ../completion/a-file.pem',
    ],
  ])('completes %j to %j', async (line, completed) => {
    const home = temporaryFolder();
    for (const name of ['functions', 'here', 'completion']) mkdirSync(join(home, name));
    writeFileSync(join(home, 'completion/a-file.pem'), '');
    writeFileSync(join(home, 'functions/_tsigil'), (await runInside({}, 'completion', 'zsh')).out);
    writeFileSync(
      join(home, '.zshrc'),
      "fpath=(~/functions $fpath); autoload -U compinit; compinit -u; PS1='> '; cd ~/here; clear\n",
    );
    const screen = openShell(home, 'zsh', { HOME: home, ZDOTDIR: home });
    await screen.waitFor(/^>$/);
    screen.type('-l', line);
    screen.type('Tab');
    await expect.poll(() => screen.read().split('\n')[0]).toBe(`> ${completed}`);
  });
});
