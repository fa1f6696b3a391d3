import { writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { commandsBelow, optionsOf } from '../../src/cli/flags/help.ts';
import { startWithTokens, type CreatedToken } from '../harness/administrators.ts';
import { openScreen, type Screen } from '../harness/screen.ts';
import {
  PROGRAM,
  startTestService,
  temporaryFolder,
  type TestService,
} from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { runInside, wholeProgram, type RunOptions } from './session.ts';
import { words } from './run.ts';

/**
 * The commands that ask for confirmation, and when. A command must ask if it removes resources that
 * its arguments do not name.
 */
const ASKING: Record<string, string | undefined> = {
  'tsigil restore': 'before the command replaces a database',
  'tsigil nameserver adopt': 'before --write edits the configuration',
  'tsigil nameserver release': 'before --write edits the configuration',
  'tsigil encryption accept': 'when there is such a secret or token',
  'tsigil encryption scrub': 'before the command rewrites the table or the database file',
  'tsigil encryption reset': 'when a secret is unreadable',
  'tsigil token revoke': 'when the command revokes the token in use',
  'tsigil tld import': 'when --replace changes an entry',
  'tsigil tsigkey set': 'when --generate replaces a secret that name servers have',
  'tsigil tsigkey delete': 'when clients have used a key within a day',
  'tsigil zone delete': 'when keys lose rights with a zone',
  'tsigil nameserver delete': 'when keys stay on a name server',
  'tsigil tsigkey grants': 'before a limited key gets rights in every zone of its scope',
  'tsigil tsigkey rotate': 'before --in-place or --compromised makes clients fail',
  'tsigil tsigkey import': 'before new keys open every zone of a pool',
};

const REFUSED = (obstacle: string, reason = '') =>
  `tsigil: ${reason}Cannot ask for confirmation: ${obstacle}. Nothing was changed.\nUse --yes to go ahead.\n`;

/** Returns an input that is a terminal, on which the user types `lines`. */
function typed(...lines: string[]): NonNullable<RunOptions['input']> {
  return Object.assign(Readable.from(lines), { isTTY: true });
}

const conditionOf = (command: Parameters<typeof optionsOf>[0]) =>
  optionsOf(command)
    .find(({ long }) => long === '--yes')
    ?.description.replace('do not ask for confirmation ', '');

describe('declarations', async () => {
  const program = await wholeProgram();
  const leaves = commandsBelow(program).filter(({ command }) => command.commands.length === 0);

  test('exactly these commands ask and have --yes', () => {
    const asking = leaves.filter(({ command }) => conditionOf(command) !== undefined);
    expect(
      Object.fromEntries(
        asking.map(({ words, command }) => [words.join(' '), conditionOf(command)]),
      ),
    ).toEqual(ASKING);
    const withYes = leaves.filter(({ command }) =>
      optionsOf(command).some(({ long }) => long === '--yes'),
    );
    expect(withYes).toEqual(asking);
  });
});

describe('tld import --replace', () => {
  const folder = temporaryFolder();
  const list = join(folder, 'three.txt');
  writeFileSync(list, 'com\nnet\norg\n');
  const ENTRIES = [
    'com',
    ...Array.from({ length: 40 }, (_, index) => `entry-${String(index).padStart(2, '0')}`),
  ];

  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  beforeEach(() =>
    service.post('/v2/tlds/bulk', { replace: true, tlds: ENTRIES.map((name) => ({ name })) }),
  );
  const names = async () =>
    ((await service.get('/v2/tlds?sort_key=name')).body.tlds as { name: string }[]).map(
      ({ name }) => name,
    );
  const replace = (runOptions: RunOptions, ...flags: string[]) =>
    runInside(
      { variables: service.variables, ...runOptions },
      ...words`tld import ${list} --replace`,
      ...flags,
    );

  test('exits with 2 and changes nothing if standard input is not a terminal', async () => {
    const { status, err } = await replace({ errorTerminal: true });
    expect(status).toBe(2);
    expect(err.replaceAll(/\x1b\[\d+m/g, '')).toBe(REFUSED('standard input is not a terminal'));
    expect(await names()).toEqual(ENTRIES);
  });

  test('exits with 2 and changes nothing if the list is on standard input', async () => {
    const input = typed('com\n');
    const { status, err } = await runInside(
      { variables: service.variables, input, errorTerminal: true },
      ...words`tld import - --replace`,
    );
    expect([status, err.includes('has read standard input to its end')]).toEqual([2, true]);
    expect(await names()).toEqual(ENTRIES);
  });

  test.each(['\n', 'yesterday\n', ''])(
    'exits with 1 and changes nothing if the user types %j',
    async (answer) => {
      const { status, err } = await replace({
        input: typed(...(answer === '' ? [] : [answer])),
        errorTerminal: true,
      });
      expect(status).toBe(1);
      expect(err).toContain(
        '2 added, 1 unchanged, 0 updated, 40 removed, 0 refused. Continue? [y/N] ',
      );
      expect(err).toContain('Nothing was changed');
      expect(await names()).toEqual(ENTRIES);
    },
  );

  test('replaces the entries if the user types y, even if standard output is not a terminal', async () => {
    expect(await replace({ input: typed('y\n'), errorTerminal: true })).toMatchObject({
      status: 0,
    });
    expect(await names()).toEqual(['com', 'net', 'org']);
  });

  describe.runIf(hasProgram('tmux', 'tmux'))('on a real terminal', () => {
    const program = `'${process.execPath}' '${PROGRAM}' tld import '${list}' --replace`;
    let screen: Screen | undefined;
    afterEach(() => screen?.close());
    const open = (command: string) => {
      const place = temporaryFolder();
      return openScreen(
        place,
        100,
        30,
        service.variables,
        `bash -c "${command}; echo ended \\\${PIPESTATUS[0]}; sleep 100"`,
      );
    };

    test('Ctrl-C and Ctrl-D change nothing', async () => {
      screen = open(program);
      await screen.waitFor(/\[y\/N\]/);
      screen.type('C-d');
      expect(await screen.waitFor(/ended 1/)).toContain('Nothing was changed');
      screen.close();
      screen = open(`trap true INT; ${program}`);
      await screen.waitFor(/\[y\/N\]/);
      screen.type('C-c');
      await screen.waitFor(/ended 130/);
      expect(await names()).toEqual(ENTRIES);
    });
  });
});

describe('token revoke', () => {
  let service: TestService;
  let tokens: CreatedToken[];
  beforeEach(async () => {
    const bodies = [
      { name: 'mine', roles: ['admin'] },
      { name: 'other', roles: ['Admin'] },
      { name: 'reader', roles: ['reader'] },
    ];
    ({ service, tokens } = await startWithTokens(bodies));
  });
  const [mine, other] = [0, 1].map((index) => () => tokens[index] as CreatedToken) as [
    () => CreatedToken,
    () => CreatedToken,
  ];
  const revoke = (runOptions: RunOptions, ...argv: string[]) =>
    runInside(
      { ...runOptions, variables: service.with(mine().token).variables },
      'token',
      'revoke',
      ...argv,
    );
  const names = async (token = mine()) =>
    (
      (await service.with(token.token).get('/v2/tokens?sort_key=name')).body.tokens as {
        name: string;
      }[]
    ).map(({ name }) => name);

  test('without a terminal, does not revoke the token in use: exit code 2', async () => {
    for (const idOrName of ['mine', mine().id]) {
      expect(await revoke({}, 'reader', idOrName)).toEqual({
        status: 2,
        out: '',
        err: REFUSED(
          'standard input is not a terminal',
          "Token 'mine' is the token that this command uses. ",
        ),
      });
    }
    expect(await names()).toEqual(['mine', 'other', 'reader']);
  });

  test('revokes the token in use last, once the user confirms', async () => {
    const { status, out } = await revoke(
      { input: typed('y\n'), errorTerminal: true },
      'mine',
      'mine',
      'reader',
    );
    expect([status, out]).toEqual([
      0,
      `Revoked token 'reader' (id ${tokens[2]?.id}).\nRevoked token 'mine' (id ${mine().id}).\n`,
    ]);
    expect((await service.with(mine().token).get('/v2/tokens')).status).toBe(401);
    expect(await names(other())).toEqual(['other']);
  });
});
