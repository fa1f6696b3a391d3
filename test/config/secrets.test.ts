import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { fileVariableOf, variableOf } from '../../src/config/option.ts';
import { OPTIONS, valueAt } from '../../src/config/options.ts';
import { temporaryFolder } from '../harness/service.ts';
import { CASES, COMPANIONS, problemsOf } from './cases.ts';

const folder = temporaryFolder();

function secretFile(content: string | Buffer): string {
  const path = join(folder, 'secret');
  writeFileSync(path, content);
  return path;
}

const SECRETS = OPTIONS.flatMap((option) => {
  const variable = fileVariableOf(option);
  const isText = option.kind.schema.type === 'string';
  return variable === undefined || !isText ? [] : [{ option, key: option.key, variable }];
});

test('nameServers can be read as YAML from a file, because it contains secrets', () => {
  const [, good] = CASES.nameServers ?? [];
  const file = secretFile(stringify(good));
  const config = readConfig(undefined, { TSIGIL_NAME_SERVERS_FILE: file });
  expect(config.nameServers).toMatchObject(good as object);
  const wrong = secretFile('- name: the-secret-itself\n  colour: red\n');
  expect(problemsOf({ TSIGIL_NAME_SERVERS_FILE: wrong }).join()).not.toContain('the-secret-itself');
  expect(problemsOf({ TSIGIL_NAME_SERVERS_FILE: wrong })).not.toEqual([]);
});

test('every secret can be read from a file, named by a variable or by a separate setting', () => {
  const settings = OPTIONS.map(variableOf);
  const others = OPTIONS.filter((option) => option.secret && fileVariableOf(option) === undefined);
  expect(others.map((option) => `${variableOf(option)}_FILE`)).toEqual([
    'TSIGIL_ENCRYPTION_MASTER_KEY_FILE',
  ]);
  expect(settings).toContain('TSIGIL_ENCRYPTION_MASTER_KEY_FILE');
});

describe.each(SECRETS)('$key from a file', ({ option, key, variable }) => {
  const companions = Object.fromEntries(
    Object.entries(COMPANIONS[key] ?? {}).map(([companion, value]) => [
      CASES[companion]?.[0] ?? '',
      value,
    ]),
  );
  const others = Object.fromEntries(
    Object.entries(companions).filter(([name]) => name !== variableOf(option)),
  );
  const good = String(CASES[key]?.[1]);
  const read = (file: string) => readConfig(undefined, { ...others, [variable]: file });
  const refusal = (file: string) => problemsOf({ ...others, [variable]: file });

  test.each(['', '\n', '\r\n'])('is the content without the final newline: %j', (end) => {
    expect(valueAt(read(secretFile(good + end)), key)).toBe(good);
  });

  test('is refused if both variables are set', () => {
    const environment = { ...others, [variableOf(option)]: good, [variable]: secretFile(good) };
    expect(problemsOf(environment)).toContain(
      `${variableOf(option)} and ${variable} exclude each other. Set one of them`,
    );
  });

  test('overrides the configuration file, and is ignored if the variable is empty', () => {
    const path = join(folder, 'tsigil.yaml');
    writeFileSync(path, stringify({ [key]: `${good}-of-the-file` }));
    expect(valueAt(readConfig(path, { ...others, [variable]: secretFile(good) }), key)).toBe(good);
    expect(valueAt(readConfig(path, { ...others, [variable]: '' }), key)).toBe(
      `${good}-of-the-file`,
    );
  });

  test('refuses devices and files above 65,536 bytes, and the error does not quote a path without a slash', () => {
    expect(refusal('the-secret-itself')[0]).toBe(
      `${variable} cannot be read: no such file or folder`,
    );
    expect(refusal('/dev/zero')[0]).toBe(
      `${variable}: '/dev/zero' must name a file of at most 65536 bytes`,
    );
    expect(refusal(secretFile('x'.repeat(65_537)))[0]).toMatch(
      /must name a file of at most 65536 bytes$/,
    );
  });

  test('the error for an unreadable, empty, binary or invalid file names the variable and quotes no content', () => {
    expect(refusal('/nosuch')[0]).toMatch(
      new RegExp(`^${variable}: '/nosuch' cannot be read: no such file or folder$`),
    );
    expect(refusal('/')[0]).toMatch(
      new RegExp(`^${variable}: '/' cannot be read: the path is a folder, not a file$`),
    );
    for (const content of ['', '\n'])
      expect(refusal(secretFile(content))[0]).toMatch(new RegExp(`^${variable}: '.*' is empty$`));
    expect(refusal(secretFile(Buffer.from(good + 'é', 'latin1')))[0]).toMatch(
      new RegExp(`^${variable}: '.*' is not valid UTF-8 text$`),
    );
    const [problem = ''] = refusal(secretFile(`${good}\n${good}\n`));
    expect(problem).toMatch(new RegExp(`^${variable}: '.*': the content must be `));
    expect(problem).not.toContain(good);
  });
});
