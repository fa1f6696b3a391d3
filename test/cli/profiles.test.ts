import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { runInside, type RunOptions } from './session.ts';
import { words } from './run.ts';

const folder = temporaryFolder();
let service: TestService;
let count = 0;
beforeAll(async () => {
  service = await startTestService();
});

/** Returns the variables of a user without profiles. */
const newUser = () => ({ XDG_CONFIG_HOME: join(folder, `user-${(count += 1)}`) });
type User = ReturnType<typeof newUser>;
const run = (user: User, ...argv: string[]) => runInside({ variables: user }, ...argv);
const fileOf = ({ XDG_CONFIG_HOME }: User) => join(XDG_CONFIG_HOME, 'tsigil/profiles.json');

function logIn(user: User, input = `${service.token}\n`, ...argv: string[]) {
  return runInside(
    { variables: user, input },
    ...words`login --url ${service.url} --token-file -`,
    ...argv,
  );
}

/** Returns a terminal on which the user types these lines. */
function typing(lines: readonly string[]): RunOptions & { readonly raw: boolean[] } {
  const raw: boolean[] = [];
  const input = {
    isTTY: true,
    setRawMode: (on: boolean) => raw.push(on),
    async *[Symbol.asyncIterator]() {
      for (const line of lines) yield line;
    },
  };
  return { raw, input, errorTerminal: true };
}

describe('tsigil login', () => {
  test('stores a profile that later commands use, in a file with mode 0600', async () => {
    const user = newUser();
    const { status, out, err } = await logIn(user);
    expect({ status, out, err }).toEqual({
      status: 0,
      out: `Stored the profile 'default' for '${service.url}' in ${fileOf(user)}\n`,
      err: '',
    });
    expect(statSync(fileOf(user)).mode & 0o777).toBe(0o600);
    expect((await run(user, 'pool', 'list', '-f', 'value', '-c', 'name')).out).toBe('default\n');
  });

  test('asks for the URL and the token, and disables the echo while the user types the token', async () => {
    const user = newUser();
    const { raw, ...terminal } = typing([`${service.url}\n`, `x\u007f${service.token}\r`]);
    const { status, err } = await runInside({ variables: user, ...terminal }, 'login');
    expect(status).toBe(0);
    expect(err).toBe('URL of the service [http://127.0.0.1:9001]: Token (not shown): \n');
    expect(raw).toEqual([true, false]);
    expect((await run(user, 'pool', 'list')).status).toBe(0);
  });

  test('stores nothing for a token that the service does not accept: exit code 3', async () => {
    const user = newUser();
    const { status, err } = await logIn(user, 'wrong-token\n');
    expect(status).toBe(3);
    expect(err).not.toContain('wrong-token');
    expect(() => statSync(fileOf(user))).toThrow('ENOENT');
  });

  test('does not ask for the token without a terminal: exit code 2', async () => {
    const { status, err } = await run(newUser(), 'login', '--url', service.url);
    expect([status, err]).toEqual([2, expect.stringContaining('Cannot ask for the token')]);
  });
});

describe('profiles', () => {
  test('--profile and TSIGIL_PROFILE select a profile, profile list hides tokens, and logout removes a profile', async () => {
    const user = newUser();
    await logIn(user);
    await logIn(user, undefined, '--profile', 'second');
    const stored = JSON.parse(readFileSync(fileOf(user), 'utf8'));
    stored.profiles.default.url = 'http://127.0.0.1:1';
    writeFileSync(fileOf(user), JSON.stringify(stored));
    const list = (variables: Record<string, string>, ...argv: string[]) =>
      runInside({ variables: { ...user, ...variables } }, ...argv, 'pool', 'list');
    expect((await list({})).status).toBe(0);
    expect((await list({}, '--profile', 'default')).status).toBe(3);
    expect((await list({ TSIGIL_PROFILE: 'default' })).status).toBe(3);
    expect((await list({ TSIGIL_PROFILE: 'default' }, '--profile', 'second')).status).toBe(0);
    expect((await run(user, 'profile', 'list', '-f', 'value')).out).toBe(
      `default http://127.0.0.1:1 false\nsecond ${service.url} true\n`,
    );
    expect(await run(user, 'logout')).toMatchObject({
      status: 0,
      out: "Removed the profile 'second'. Its token is not revoked.\nThe current profile is now 'default'.\n",
    });
    expect(await list({}, '--profile', 'second')).toMatchObject({
      status: 2,
      err: expect.stringContaining("Unknown profile 'second'. Use one of: default.") as string,
    });
    expect(await run(user, 'logout', '--profile', 'nope')).toEqual({
      status: 2,
      out: '',
      err: "tsigil: Unknown profile 'nope'. Use one of: default.\nRun 'tsigil profile list' to list the stored profiles.\n",
    });
  });

  test('the token of a profile is never sent to another URL', async () => {
    const user = newUser();
    await logIn(user);
    const other = 'http://127.0.0.1:1';
    const { status, err } = await run(user, 'pool', 'list', '--profile', 'default', '--url', other);
    expect([status, err]).toEqual([
      2,
      expect.stringContaining(`is for '${service.url}', not for the URL in --url`),
    ]);
    const checkout = process.cwd();
    process.chdir(folder); // the checkout may contain a local service with a first token
    onTestFinished(() => process.chdir(checkout));
    const unused = await run(user, 'pool', 'list', '--url', other);
    expect([unused.status, unused.err]).toEqual([2, expect.stringContaining('No token')]);
  });

  test('TSIGIL_TOKEN overrides the current profile, and an invalid file of profiles is reported', async () => {
    const user = newUser();
    await logIn(user);
    const variables = { ...user, TSIGIL_URL: service.url, TSIGIL_TOKEN: 'another-token' };
    expect((await runInside({ variables }, 'pool', 'list')).status).toBe(3);
    mkdirSync(join(user.XDG_CONFIG_HOME, 'tsigil'), { recursive: true });
    writeFileSync(fileOf(user), '{"profiles": 1}');
    const { status, err } = await run(user, 'pool', 'list');
    expect([status, err]).toEqual([2, expect.stringContaining('contains no profiles')]);
  });
});

/** The limits that the API shows for a token without limits. */
const UNLIMITED = { pools: null, zones: null, keys: null, nameservers: null, addresses: null };

describe('tsigil whoami', () => {
  test('whoami shows the service, the profile and the token', async () => {
    const user = newUser();
    const { body } = await service.post('/v2/tokens', { name: 'ada', roles: ['admin'] });
    await logIn(user, `${body.token}\n`, '--profile', 'work');
    const { status, out } = await run(user, 'whoami', '-f', 'json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual({
      url: service.url,
      profile: 'work',
      id: body.id,
      name: 'ada',
      roles: ['admin'],
      project_id: null,
      expires_at: null,
      ...UNLIMITED,
      rights: expect.arrayContaining(['tokens:create', 'tsigkeys:reveal']) as string[],
    });
  });
});

describe('flags before the command', () => {
  test('flags before the command have the same effect as flags after it', async () => {
    const file = join(folder, 'token');
    writeFileSync(file, service.token);
    const { status, out } = await runInside(
      {},
      ...words`--url ${service.url} --token-file ${file} pool list -f value -c name`,
    );
    expect([status, out]).toEqual([0, 'default\n']);
  });

  test('a flag before a command without this flag is refused: exit code 2', async () => {
    const { status, err } = await runInside({}, '--url', service.url, 'profile', 'list');
    expect([status, err]).toEqual([2, expect.stringContaining("'list' has no flag --url")]);
  });
});
