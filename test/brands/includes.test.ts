import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createIncludeReader } from '../../src/keys/commands/include-files.ts';
import { exportKey } from '../../src/keys/export/export-formats.ts';
import { IMPORT_FORMATS } from '../../src/formats/readers.ts';
import { SECRET } from '../harness/samples.ts';
import { hasProgram, TOOL_ENVIRONMENT } from '../harness/tools.ts';
import { temporaryFolder } from '../harness/service.ts';

const root = temporaryFolder();
let count = 0;

/**
 * The files of a configuration by their paths. The main file is `main`. `{}` in a file is the path
 * of the folder, relative to the working directory.
 */
type Files = Readonly<Record<string, string>>;

/** The sorted names of the keys, or undefined if the program rejects the configuration. */
type Names = readonly string[] | undefined;

const key = (format: string, name: string) =>
  exportKey(format, { name, algorithm: 'hmac-sha256', secret: SECRET }).text;

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name.replace(/\.$/, '')).sort();
}

function run(command: string, ...argv: string[]): { failed: boolean; out: string } {
  const { status, stdout, stderr } = spawnSync(command, argv, {
    encoding: 'utf8',
    env: TOOL_ENVIRONMENT,
  });
  return { failed: status !== 0 || /error:/.test(stderr), out: stdout };
}

/**
 * For each program, a function that returns the keys of a configuration, and configurations with
 * the expected keys.
 */
const PROGRAMS: Readonly<
  Record<
    string,
    {
      readonly program: string;
      readonly debian: string;
      readonly read: (main: string, folder: string) => Names;
      readonly cases: Readonly<Record<string, readonly [Files, Names]>>;
    }
  >
> = {
  bind: {
    program: 'named-checkconf',
    debian: 'bind9-utils',
    read(main) {
      const { failed, out } = run('named-checkconf', '-p', main);
      return failed ? undefined : namesIn(out, /key "([^"]+)" \{/g);
    },
    cases: {
      'a path from the working directory': [{ main: 'include "{}/a";', a: '@a' }, ['a']],
      'a path from the folder of the file': [{ main: 'include "a";', a: '@a' }, undefined],
      'the option directory, and statements before it': [
        {
          main: 'include "{}/a"; options { directory "{}/sub"; }; include "b";',
          a: '@a',
          'sub/b': '@b',
        },
        ['a', 'b'],
      ],
      'the option directory in an included file': [
        {
          main: 'options { include "{}/o"; }; include "b";',
          o: 'directory "{}/sub";',
          'sub/b': '@b',
        },
        ['b'],
      ],
      'a pattern': [
        {
          main: 'include "{}/su*/[ab].c?nf";',
          'sub/a.conf': '@a',
          'sub/b.conf': '@b',
          'sub/c.conf': '@c',
        },
        ['a', 'b'],
      ],
      'a pattern and a hidden file': [
        { main: 'include "{}/s/*";', 's/.h': '@h', 's/a': '@a' },
        ['a'],
      ],
      'a pattern that matches nothing': [{ main: 'include "{}/none*";' }, undefined],
      'braces, which are no pattern': [
        { main: 'include "{}/{a,b}";', a: '@a', b: '@b' },
        undefined,
      ],
      'a statement within a key': [
        {
          main: 'key "a" { include "{}/body"; };',
          body: `algorithm hmac-sha256; secret "${SECRET}";`,
        },
        ['a'],
      ],
      'a statement within a view, in upper case': [
        { main: 'view "v" { INCLUDE "{}/a"; };', a: '@a' },
        ['a'],
      ],
      'files in files': [
        { main: 'include "{}/s/1";', 's/1': 'include "{}/s/2"; @a', 's/2': '@b' },
        ['a', 'b'],
      ],
      'a folder': [{ main: 'include "{}/s";', 's/a': '@a' }, undefined],
      'a missing file': [{ main: 'include "{}/none";' }, undefined],
    },
  },
  knot: {
    program: 'knotc',
    debian: 'knot',
    read(main, folder) {
      const database = ['-C', join(folder, 'db')];
      if (run('knotc', ...database, 'conf-import', main).failed) return undefined;
      return namesIn(run('knotc', ...database, 'conf-export').out, /- id: "([^"]+)"/g);
    },
    cases: {
      'a path from the folder of the file': [{ main: 'include: a\n', a: '@a' }, ['a']],
      'a path from the folder of an included file': [
        { main: 'include: s/1\n', 's/1': 'include: 2\n', 's/2': '@b' },
        ['b'],
      ],
      'a path from the real folder of a link': [
        {
          main: 'include: link/1\n',
          'link/1': '-> ../real/1',
          'real/1': 'include: 2\n',
          'real/2': '@b',
        },
        ['b'],
      ],
      'a pattern, in quotes and before a comment': [
        { main: 'include: "s/[ab]*" # both\n', 's/a': '@a', 's/b.conf': '@b', 's/c': '@c' },
        ['a', 'b'],
      ],
      'a pattern that matches folders': [
        { main: 'include: s/*\n', 's/a': '@a', 's/t/b': '@b' },
        ['a'],
      ],
      'a list': [{ main: 'include: [a, "b"]\n', a: '@a', b: '@b' }, ['a', 'b']],
      'a space before the colon': [{ main: 'include : a\n', a: '@a' }, ['a']],
      'a pattern that matches nothing': [{ main: 'include: none*\n' }, []],
      'a missing file': [{ main: 'include: none\n' }, undefined],
      'a section that ends at the statement': [
        {
          main: `key:\n  - id: b\n    algorithm: hmac-sha256\n    secret: ${SECRET}\ninclude: a\n`,
          a: '@a',
        },
        ['a', 'b'],
      ],
      'a file that includes itself': [{ main: 'include: main\n' }, undefined],
    },
  },
  nsd: {
    program: 'nsd-checkconf',
    debian: 'nsd',
    read(main) {
      const { failed, out } = run('nsd-checkconf', '-v', main);
      return failed ? undefined : namesIn(out, /^key:\n\s*name: "([^"]+)"/gm);
    },
    cases: {
      'a path from the working directory': [{ main: 'include: "{}/a"\n', a: '@a' }, ['a']],
      'a path from the folder of the file': [{ main: 'include: "a"\n', a: '@a' }, undefined],
      'a path from zonesdir': [
        { main: 'server:\n zonesdir: "{}/s"\ninclude: "a"\n', 's/a': '@a' },
        undefined,
      ],
      'a statement without quotes, in a section': [
        { main: 'server:\n  include: {}/a # key\n', a: '@a' },
        ['a'],
      ],
      'a secret in another file': [
        {
          main: 'key:\n name: a\n include: "{}/secret"\n algorithm: hmac-sha256\n',
          secret: ` secret: "${SECRET}"\n`,
        },
        ['a'],
      ],
      'a pattern': [
        { main: 'include: "{}/s/[ab]*"\n', 's/a': '@a', 's/b.conf': '@b', 's/c': '@c' },
        ['a', 'b'],
      ],
      braces: [{ main: 'include: "{}/{a,b}"\n', a: '@a', b: '@b', c: '@c' }, ['a', 'b']],
      'a pattern that matches nothing': [{ main: 'include: "{}/none*"\n' }, []],
      'a missing file': [{ main: 'include: "{}/none"\n' }, undefined],
      'a file that includes itself': [{ main: 'include: "{}/main"\n' }, undefined],
    },
  },
};

/**
 * Writes the files into a new folder and returns the path of the folder. `@name` in a file becomes
 * a key, and a file with the text `-> path` becomes a symbolic link.
 */
function write(format: string, files: Files): string {
  const folder = join(root, String((count += 1)));
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    if (text.startsWith('-> ')) symlinkSync(text.slice(3), path);
    else
      writeFileSync(
        path,
        text
          .replaceAll('{}', relative(process.cwd(), folder))
          .replaceAll(/@(\w+)/g, (_, name: string) => key(format, name)),
      );
  }
  return folder;
}

/**
 * Returns the names of the keys that an import finds in the file, or undefined if the import
 * reports a problem.
 */
function imported(format: string, main: string): Names {
  const reader = IMPORT_FORMATS[format];
  if (reader?.includes === undefined) throw new Error(`${format} has no include statements`);
  const { include, unread } = createIncludeReader(main, reader.includes, () => undefined);
  const names = reader
    .read(readFileSync(main, 'utf8'), include)
    .map((each) => ('key' in each ? each.key.name.replace(/\.$/, '') : ''));
  return unread.length > 0 ? undefined : names.sort();
}

for (const [format, { program, debian, read, cases }] of Object.entries(PROGRAMS)) {
  describe.runIf(hasProgram(program, debian))(`include statements of ${format}`, () => {
    test.each(Object.entries(cases))(
      'give the same keys in the program and in an import: %s',
      (_case, [files, names]) => {
        const folder = write(format, files);
        const main = join(folder, 'main');
        expect({ read: read(main, folder) }).toEqual({ read: names });
        expect({ imported: imported(format, main) }).toEqual({ imported: names });
      },
    );
  });
}
