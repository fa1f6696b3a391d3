import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { KEY_MEMBERS } from '../harness/samples.ts';
import { openScreen, type Screen } from '../harness/screen.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startServiceProcess,
  temporaryFolder,
  type ServiceProcess,
} from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';
import { runInside } from './session.ts';
import { serve } from '../harness/connections.ts';

const folder = temporaryFolder();
let service: ServiceProcess;
beforeAll(async () => {
  service = await startServiceProcess(folder);
  for (const name of ['transfer-one', 'transfer-two', 'update', '$(touch pwned)', 'a key'])
    await service.post('/v2/tsigkeys', { ...KEY_MEMBERS, name });
  await service.post('/v2/tlds', { name: 'org' });
  await service.post('/v2/zones', { name: 'one.example.org.', email: 'a@example.org' });
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
afterAll(() => service.stop('SIGTERM'));

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
  ['tsigil t', ['tld', 'tsigkey', 'token'], ['serve', 'zone']],
  ['tsigil tld ', ['create', 'list', 'show', 'set', 'delete'], ['serve', 'revoke']],
  ['tsigil token ', ['create', 'list', 'show', 'revoke'], ['set', 'delete']],
  [
    'tsigil token create --',
    ['--name', '--role', '--project', '--expires'],
    ['--roles', '--expires-at', '--limit'],
  ],
  [
    'tsigil tld create --',
    ['--name', '--description', '--url', '--format'],
    ['--algorithm', '--limit'],
  ],
  ['tsigil tsigkey create --al', ['--algorithm'], ['--name', '--all-projects']],
  ['tsigil zone ls --al', ['--all-projects'], ['--name']],
  ['tsigil help tsig', ['tsigkey'], ['tld']],
  ['tsigil comp', ['completion'], ['complete']],
  ['tsigil --url http://localhost tld cr', ['create'], ['serve']],
  ['tsigil help tsigkey ver', ['verify'], ['create']],
  [
    'tsigil tsigkey create --algorithm ',
    ['hmac-md5', 'hmac-sha256', 'hmac-sha512'],
    ['--name', 'create'],
  ],
  ['tsigil tsigkey create --algorithm hmac-sha256 --scope ', ['POOL', 'ZONE'], ['hmac-md5']],
  ['tsigil zone list -f ', ['table', 'json', 'yaml', 'csv', 'value'], ['--name']],
  ['tsigil zone list --format j', ['json'], ['yaml']],
  ['tsigil tld list --cacert a-f', ['a-file.pem'], ['--format']],
  ['tsigil completion ', ['bash', 'zsh', 'fish'], ['serve']],
  ['tsigil tld create --name ', [], ['create', '--name']],
  ['tsigil tld create --name list --', ['--description'], ['--limit']],
];

/** A line for which no word but a name is offered. */
const LINE = 'tsigil tld show o';

/** Completes a command line, and returns the offered names. */
async function names(given: Record<string, string>, line: string) {
  const { status, out, err } = await runInside({ variables: given }, 'complete', '--', line);
  return { status, out: out.replace(/^words\n/, ''), err };
}

const PATH = `${folder}/bin:${process.env.PATH}`;

function offers(program: string, ...parameters: string[]): string[] {
  const { status, stdout, stderr } = spawnSync(program, parameters, {
    cwd: folder,
    encoding: 'utf8',
    env: cleanEnvironment({ ...service.variables, HOME: folder, LC_ALL: 'C.UTF-8', PATH }),
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
  const screen = openScreen(home, 100, 20, { ...service.variables, ...more, PATH }, command);
  onTestFinished(() => screen.close());
  return screen;
}

describe('tsigil complete', () => {
  test('lists the names that begin with the prefix, one per line', async () => {
    expect(await names(service.variables, 'tsigil tsigkey show trans')).toEqual({
      status: 0,
      out: 'transfer-one\ntransfer-two\n',
      err: '',
    });
    expect((await names(service.variables, 'tsigil zone show o')).out).toBe('one.example.org.\n');
    expect((await names(service.variables, 'tsigil pool show d')).out).toBe('default\n');
  });

  test('queries the service that the flags in the command line select', async () => {
    writeFileSync(join(folder, 'other.token'), service.token);
    const line = `tsigil tld show --url ${service.url} --token-file '${join(folder, 'other.token')}' o`;
    expect((await names({}, line)).out).toBe('org\n');
  });

  test('lists nothing, without an error, if the service cannot be queried', async () => {
    const nothing = { status: 0, out: '', err: '' };
    expect(await names({}, LINE)).toEqual(nothing);
    expect(await names({ ...service.variables, TSIGIL_URL: 'http://127.0.0.1:1' }, LINE)).toEqual(
      nothing,
    );
    expect(await names({ ...service.variables, TSIGIL_TOKEN: 'wrong' }, LINE)).toEqual(nothing);
    expect(await names(service.variables, 'tsigil nosuch show o')).toEqual(nothing);
  });

  test('lists nothing, after 2 s, if the service does not respond', async () => {
    const url = await serve(createServer());
    expect(await names({ ...service.variables, TSIGIL_URL: url }, LINE)).toEqual({
      status: 0,
      out: '',
      err: '',
    });
  });
});

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

  test('completes names of resources as arguments and as values of flags', () => {
    expect(complete('tsigil tsigkey show trans')).toEqual(['transfer-one', 'transfer-two']);
    expect(complete('tsigil tsigkey rm trans')).toEqual(['transfer-one', 'transfer-two']);
    expect(complete('tsigil tsigkey delete update trans')).toEqual([
      'transfer-one',
      'transfer-two',
    ]);
    expect(complete('tsigil tsigkey verify update --zone one')).toEqual(['one.example.org.']);
    expect(complete('tsigil tsigkey show --rev')).toEqual(['--reveal']);
  });

  test('quotes names, and runs no command that a name contains', () => {
    expect(complete('tsigil tsigkey show ')).toEqual([
      '\\$\\(touch\\ pwned\\)',
      'a\\ key',
      'transfer-one',
      'transfer-two',
      'update',
    ]);
    expect(existsSync(join(folder, 'pwned'))).toBe(false);
  });

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

  test('completes names of resources as arguments and as values of flags', () => {
    expect(complete('tsigil tsigkey show trans')).toEqual(['transfer-one', 'transfer-two']);
    expect(complete('tsigil tsigkey verify update --zone one')).toEqual(['one.example.org.']);
    expect(complete('tsigil tsigkey show ')).toContain('$(touch pwned)');
    expect(existsSync(join(folder, 'pwned'))).toBe(false);
  });
});

describe.runIf([hasProgram('zsh', 'zsh'), hasProgram('tmux', 'tmux')].every(Boolean))('zsh', () => {
  test.each([
    ['tsigil tsigk', 'tsigil tsigkey'],
    ['tsigil tld cre', 'tsigil tld create'],
    ['tsigil tsigkey create --res', 'tsigil tsigkey create --resource-id'],
    [
      'tsigil tsigkey create --algorithm hmac-sha38',
      'tsigil tsigkey create --algorithm hmac-sha384',
    ],
    [
      'tsigil tld list --cacert ../completion/a-f',
      'tsigil tld list --cacert ../completion/a-file.pem',
    ],
    ['tsigil completion z', 'tsigil completion zsh'],
    ['tsigil tsigkey show upd', 'tsigil tsigkey show update'],
    [
      'tsigil tsigkey verify update --zone one',
      'tsigil tsigkey verify update --zone one.example.org.',
    ],
    ['tsigil tsigkey show \\$', 'tsigil tsigkey show \\$\\(touch\\ pwned\\)'],
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
    expect(existsSync(join(home, 'here/pwned'))).toBe(false);
  });
});
