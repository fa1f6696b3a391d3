import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { formatYaml } from '../../src/cli/output/yaml.ts';
import { ConfigError, describeConfig, readConfig } from '../../src/config/config.ts';
import { variableOf } from '../../src/config/option.ts';
import { OPTIONS, valueAt, type Config } from '../../src/config/options.ts';
import { temporaryFolder } from '../harness/service.ts';
import { CASES, COMPANIONS, problemsOf as problemsIn } from './cases.ts';

const folder = temporaryFolder();
const printed = (config: Config) => formatYaml(describeConfig(config));

function fileWith(text: string): string {
  const path = join(folder, 'tsigil.yaml');
  writeFileSync(path, text);
  return path;
}

/** Returns all problems of a file with this text and of an environment. */
const problemsOf = (text: string | undefined, environment: NodeJS.ProcessEnv = {}) =>
  problemsIn(environment, text === undefined ? undefined : fileWith(text));

/** Returns the text of a file that sets `key` and the settings that it requires. */
function textOf(key: string, value: unknown): string {
  const nested = key.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  const companions = Object.entries(COMPANIONS[key] ?? {}).filter(
    ([companion]) => companion !== key,
  );
  return companions.length === 0
    ? stringify(nested)
    : stringify({ ...Object.fromEntries(companions), [key]: value });
}

describe.each(OPTIONS.map((option) => ({ option, key: option.key })))('$key', ({ option, key }) => {
  const [variable, good, bad] = CASES[key] ?? ['', undefined, undefined];
  const text = (value: unknown) => (typeof value === 'string' ? value : stringify(value));

  test('has a test case, and its default if it is not set', () => {
    expect(variableOf(option)).toBe(variable);
    expect(valueAt(readConfig(undefined, {}), key)).toEqual(option.default);
    expect(good).not.toEqual(option.default);
  });

  test('is read from the file', () => {
    expect(valueAt(readConfig(fileWith(textOf(key, good)), {}), key)).toEqual(good);
  });

  test('is read from its variable, and the variable overrides the file', () => {
    const companions = Object.entries(COMPANIONS[key] ?? {}).map(
      ([companion, value]) => [CASES[companion]?.[0] ?? '', value] as const,
    );
    const environment = { ...Object.fromEntries(companions), [variable]: text(good) };
    expect(valueAt(readConfig(undefined, environment), key)).toEqual(good);
    expect(valueAt(readConfig(fileWith(textOf(key, option.default)), environment), key)).toEqual(
      good,
    );
  });

  test('has its default if the variable is empty and the value in the file is null', () => {
    expect(
      valueAt(readConfig(fileWith(stringify({ [key]: null })), { [variable]: '' }), key),
    ).toEqual(option.default);
  });

  test('the error for an invalid value names the setting in the file or the variable', () => {
    const named = new RegExp(
      `(?:${key.replaceAll('.', '\\.')}'|^${variable}):? .*(?:must|is not|is a required)`,
    );
    expect(problemsOf(stringify({ [key]: bad }))).toContainEqual(expect.stringMatching(named));
    expect(problemsOf(undefined, { [variable]: text(bad) })).toContainEqual(
      expect.stringMatching(named),
    );
  });
});

describe('names', () => {
  test('every setting has a test case, and all but two have a variable named after the key', () => {
    expect(OPTIONS.map(({ key }) => key)).toEqual(Object.keys(CASES));
    for (const option of OPTIONS.filter(
      ({ key }) => !['database', 'databasePool.password'].includes(key),
    )) {
      const words = option.key.split(/\.|(?=[A-Z])/).map((word) => word.toUpperCase());
      expect(variableOf(option)).toBe(['TSIGIL', ...words].join('_'));
    }
  });

  test('the error for unknown keys and variables names each of them', () => {
    expect(
      problemsOf('lsiten: 127.0.0.1:1\napi:\n  defaultLimits: 5\nnosuch:\n  a: 1\n', {
        TSIGIL_LISTENS: 'x',
        TSIGIL_DATABASE: 'x',
      }),
    ).toEqual([
      expect.stringMatching(/tsigil\.yaml: unknown setting 'lsiten'\. Did you mean 'listen'\?$/),
      expect.stringMatching(
        /unknown setting 'api\.defaultLimits'\. Did you mean 'api\.defaultLimit'\?$/,
      ),
      expect.stringMatching(/unknown setting 'nosuch'$/),
      "Unknown environment variable TSIGIL_LISTENS. Did you mean 'TSIGIL_LISTEN'?",
      "Unknown environment variable TSIGIL_DATABASE. Did you mean 'TSIGIL_DATABASE_URL'?",
    ]);
  });

  test('variables of the command line and of a Kubernetes service named tsigil are ignored', () => {
    const environment = {
      TSIGIL_CONFIG: 'x',
      TSIGIL_URL: 'x',
      TSIGIL_TOKEN: 'x',
      TSIGIL_SERVICE_HOST: '10.0.0.1',
      TSIGIL_SERVICE_PORT: '9001',
      TSIGIL_SERVICE_PORT_HTTP: '9001',
      TSIGIL_PORT: 'tcp://10.0.0.1:9001',
      TSIGIL_PORT_9001_TCP_ADDR: '10.0.0.1',
    };
    expect(readConfig(undefined, environment)).toEqual(readConfig(undefined, {}));
  });
});

describe('the file', () => {
  test.each(['', '# nothing\n', 'api:\n', 'api: {}\n'])('%j sets nothing', (text) => {
    expect(readConfig(fileWith(text), {})).toEqual(readConfig(undefined, {}));
  });

  test.each(['- listen\n', 'listen\n', '5\n'])('%j is refused because it is not a map', (text) => {
    expect(problemsOf(text)).toEqual([expect.stringMatching(/must be a map/)]);
  });

  test('a key can contain dots, but a setting cannot be set twice', () => {
    expect(readConfig(fileWith('api.defaultLimit: 7\n'), {}).api.defaultLimit).toBe(7);
    expect(problemsOf('api.defaultLimit: 7\napi:\n  defaultLimit: 8\n')).toEqual([
      expect.stringMatching(/'api\.defaultLimit' is set twice$/),
    ]);
  });

  test('the error for a missing file names the file', () => {
    expect(() => readConfig(join(folder, 'nosuch.yaml'), {})).toThrow(
      /nosuch\.yaml' cannot be read: no such file or folder$/,
    );
  });

  test('no error quotes the content of the file, even if its syntax is invalid', () => {
    const secret = 'S3cretS3cret';
    const broken = [
      `adminToken: *${secret}`,
      `adminToken: !${secret} x`,
      `adminToken: "${secret}\\q"`,
      `adminToken: @${secret}`,
      `adminToken: ${secret} ${secret}`,
    ];
    broken.push(
      `adminToken: ${secret}: x`,
      `adminToken: [${secret}`,
      `adminToken: '${secret}`,
      `%${secret}\n---\n`,
      `adminToken: |${secret}`,
      `&${secret} *${secret}`,
    );
    for (const text of broken) {
      const problems = problemsOf(text);
      expect(problems, text).not.toEqual([]);
      expect(problems.join('\n'), text).not.toContain(secret);
    }
  });

  test('no error quotes an administrator token, whatever text the file or variable contains', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 6, maxLength: 20, unit: 'grapheme' }), (text) => {
        const token = `${text} 7 ${text}`;
        fc.pre(!/['"]/.test(token));
        for (const problems of [
          problemsOf(`adminToken: ${text}\nlisten: 5\n`),
          problemsOf(undefined, { TSIGIL_ADMIN_TOKEN: token }),
        ]) {
          // Text of letters and punctuation can occur in a message by chance.
          if (!/^[\w ,.:()-]*$/.test(text)) expect(problems.join('\n')).not.toContain(text);
        }
      }),
    );
  });
});

describe('a number or boolean in the file for a text setting', () => {
  test.each([
    ['auth.keystone.password', '123456'],
    ['auth.keystone.password', 'true'],
    ['adminToken', '12345678901234567890123456789012'],
    ['listen', '9001'],
    ['tls.cert', '0x10'],
  ])('is refused, and the error suggests quotes: %s: %s', (key, text) => {
    const problems = problemsOf(`${key}: ${text}\n`);
    const type = text === 'true' ? 'boolean' : 'number';
    expect(problems[0]).toMatch(
      new RegExp(
        `tsigil\\.yaml: '${key.replaceAll('.', '\\.')}' must be text, but YAML reads this value as a ${type}\\. Put the value in quotes$`,
      ),
    );
    expect(problems.join()).not.toContain(text);
  });
});

describe('problems', () => {
  test('problems in the file and in the environment are listed together', () => {
    const problems = problemsOf(
      'listen: 5\nnosuch: 1\napi:\n  defaultLimit: 5000\ntls:\n  cert: a.pem\n',
      {
        TSIGIL_LOG_LEVEL: 'loud',
        TSIGIL_NOSUCH: '1',
        TSIGIL_POLICY: '{tlds:fly: [admin], tlds:list: admin}',
      },
    );
    expect(problems).toHaveLength(9);
    expect(new ConfigError(problems).message.split('\n')).toHaveLength(10);
  });

  test.each([
    ['TSIGIL_DATABASE_URL', 'sqlite:'],
    ['TSIGIL_DATABASE_URL', 'sqlite::memory:'],
    ['TSIGIL_DATABASE_URL', 'sqlite://host/t.db'],
    ['TSIGIL_DATABASE_URL', 'postgres:x'],
    ['TSIGIL_DATABASE_URL', 'postgres:///tsigil'],
    ['TSIGIL_DATABASE_URL', 'postgres://'],
    ['TSIGIL_DATABASE_URL', 'constructor:x'],
    ['TSIGIL_LISTEN', '127.0.0.1'],
    ['TSIGIL_LISTEN', ':9001'],
    ['TSIGIL_LISTEN', '127.0.0.1:65536'],
    ['TSIGIL_LISTEN', '127.0.0.1:-1'],
    ['TSIGIL_LISTEN', '::1:9001'],
    ['TSIGIL_LISTEN', 'a b:1'],
    ['TSIGIL_LISTEN', '127.0.0.1:9001/'],
  ])('an invalid value is a problem: %s=%s', (variable, value) => {
    const problem = new RegExp(`^${variable} must be`);
    expect(problemsOf(undefined, { [variable]: value })).toEqual([expect.stringMatching(problem)]);
  });

  test('an administrator token of fewer than 32 characters is a problem, and the error has a command to create one', () => {
    expect(problemsOf(undefined, { TSIGIL_ADMIN_TOKEN: 'x'.repeat(32) })).toEqual([]);
    expect(problemsOf(undefined, { TSIGIL_ADMIN_TOKEN: 'x'.repeat(31) })).toEqual([
      'TSIGIL_ADMIN_TOKEN must be 32 to 512 printable ASCII characters without blanks. Create one with: openssl rand -hex 32',
    ]);
    expect(problemsOf('adminToken: short\n')).toEqual([
      expect.stringMatching(/: 'adminToken' must be 32 to 512 .* openssl rand -hex 32$/),
    ]);
  });

  test('a policy that grants rights on tokens, or unknown rights, is a problem', () => {
    const roles = '[reader]\n  ';
    expect(
      problemsOf(`policy:\n  tokens:create: ${roles}tlds:lst: ${roles}nosuch: ${roles}`),
    ).toEqual([
      expect.stringMatching(/: key 'tokens:create' is a right to tokens, which cannot be changed$/),
      expect.stringMatching(/: key 'tlds:lst' is not a right\. Did you mean 'tlds:list'\?$/),
      expect.stringMatching(/: key 'nosuch' is not a right$/),
      expect.stringMatching(/: the rights are tlds:create, .*, nameservers:check$/),
    ]);
  });
});

test('text in a variable is used unchanged, even if YAML would parse it', () => {
  for (const character of ['1', '"', '*', '!', '{', '#', "'"]) {
    const token = character.repeat(32);
    expect(readConfig(undefined, { TSIGIL_ADMIN_TOKEN: token }).adminToken).toBe(token);
  }
  expect(readConfig(undefined, { TSIGIL_PUBLIC_URL: 'http://true' }).publicUrl).toBe('http://true');
  expect(
    problemsOf(undefined, { TSIGIL_ADMIN_TOKEN: `${'token'.repeat(8)} # of mine` }),
  ).toHaveLength(1);
});

describe('the effective configuration', () => {
  test('is YAML that the service can read, apart from hidden secrets', () => {
    const token = 'very-secret-token'.repeat(2);
    const environment = {
      TSIGIL_ADMIN_TOKEN: token,
      TSIGIL_API_DEFAULT_LIMIT: '20',
      TSIGIL_POLICY: 'tlds:list: [reader]',
    };
    const config = readConfig(undefined, environment);
    const described = printed(config);
    expect(described).not.toContain(token);
    expect((parse(described) as { adminToken: string }).adminToken).toBe('(hidden)');
    const again = readConfig(fileWith(described.replace(/^adminToken:.*$/m, '')), {
      TSIGIL_ADMIN_TOKEN: token,
    });
    expect(again).toEqual(config);
  });

  test.each([
    ['postgres://tsigil:s3cret@db.example/tsigil', 'postgres://tsigil:(hidden)@db.example/tsigil'],
    [
      'postgresql://:s3cret@db.example:5433/tsigil?sslmode=require',
      'postgresql://:(hidden)@db.example:5433/tsigil?sslmode=require',
    ],
    [
      'postgres://tsigil:s3cret@s3cret@db.example/tsigil',
      'postgres://tsigil:(hidden)@db.example/tsigil',
    ],
    [
      'postgres://a@b/c?password=s3cret&sslpassword=s3cret&options=x',
      'postgres://a@b/c?password=(hidden)&sslpassword=(hidden)&options=x',
    ],
    ['postgres://tsigil@db.example:5433/tsigil', 'postgres://tsigil@db.example:5433/tsigil'],
    ['sqlite:/srv/a:b@c/t.db', 'sqlite:/srv/a:b@c/t.db'],
  ])('hides the password in a database URL: %s', (database, shown) => {
    const described = printed(readConfig(undefined, { TSIGIL_DATABASE_URL: database }));
    expect((parse(described) as { database: string }).database).toBe(shown);
    expect(described).not.toContain('s3cret');
  });
});
