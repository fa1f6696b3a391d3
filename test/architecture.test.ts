import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

interface SourceFile {
  /** The path, relative to src. */
  readonly path: string;
  /** The first folder below src, or an empty string for a file in src itself. */
  readonly folder: string;
  /** The paths of the imported files, relative to src. */
  readonly imports: string[];
  /** Names of imported packages and built-in modules. */
  readonly packages: string[];
}

const FILES: SourceFile[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8');
    const specifiers = [
      ...text.matchAll(
        /^(?:import|export)\b[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm,
      ),
    ].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
    return {
      path,
      folder: path.includes('/') ? (path.split('/')[0] ?? '') : '',
      imports: specifiers
        .filter((name) => name.startsWith('.'))
        .map((name) => normalize(join(dirname(path), name))),
      packages: specifiers.filter((name) => !name.startsWith('.')).map(packageOf),
    };
  });

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function isBuiltIn(name: string): boolean {
  return name.startsWith('node:') || builtinModules.includes(name);
}

const packagesOf = (files: readonly SourceFile[]) => files.flatMap(({ packages }) => packages);
const filesIn = (wanted: string) => FILES.filter(({ folder }) => folder === wanted);
const textOf = ({ path }: SourceFile) => readFileSync(join(SRC, path), 'utf8');

describe('imports', () => {
  test('the scan finds source files and imports', () => {
    expect(FILES.length).toBeGreaterThan(30);
    expect(FILES.flatMap(({ imports }) => imports).length).toBeGreaterThan(60);
  });

  test('only one function changes resources', () => {
    const writers = FILES.filter((file) => /\bstore\b[^;]*\.write\(/.test(textOf(file)));
    expect(writers.map(({ path }) => basename(path))).toEqual(['change.ts']);
    const callers = FILES.filter((file) =>
      /\bwriter\.(?:insert|replace|remove|putAll|removeAll)\(/.test(textOf(file)),
    );
    // copy.ts copies rows to another database, and changes no resource.
    expect(callers.map(({ path }) => basename(path)).sort()).toEqual(['change.ts', 'copy.ts']);
  });

  test('only the console imports Preact', () => {
    const own = filesIn('console');
    expect(own.length).toBeGreaterThan(20);
    const others = FILES.filter(({ folder }) => folder !== 'console');
    expect(packagesOf(others).filter((name) => name.includes('preact'))).toEqual([]);
  });

  test('only net sends HTTP requests and datagrams', () => {
    const sends =
      /import \{[^}]*\b(?:request|get|Agent)\b[^}]*\} from 'node:https?'|getBuiltinModule\('node:https?'|from 'node:dgram'|\bfetch\(/;
    const clients = FILES.filter((file) => file.folder !== 'net' && sends.test(textOf(file)));
    // The console runs in browsers.
    expect(clients.map(({ path }) => path)).toEqual(['console/requests.ts']);
  });

  test('src imports exactly the packages in dependencies of package.json', () => {
    const declared = Object.keys(
      (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object })
        .dependencies,
    );
    // The build bundles the packages of the console.
    const own = FILES.filter(({ folder }) => folder !== 'console');
    const imported = new Set(packagesOf(own).filter((name) => !isBuiltIn(name)));
    expect([...imported].sort()).toEqual(declared.sort());
  });

  test('no imports form a cycle', () => {
    const importsOf = new Map(FILES.map(({ path, imports }) => [path, imports]));
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (path: string, trail: string[]) => {
      if (trail.includes(path))
        cycles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
      if (done.has(path) || trail.includes(path)) return;
      for (const target of importsOf.get(path) ?? []) visit(target, [...trail, path]);
      done.add(path);
    };
    for (const { path } of FILES) visit(path, []);
    expect(cycles).toEqual([]);
  });

  test('only the main program and its configuration read the environment', () => {
    const readers = FILES.filter((file) => /process\.env\b/.test(textOf(file)));
    expect(readers.map(({ path }) => path)).toEqual(['command-config.ts', 'commands.ts']);
  });
});

describe('names', () => {
  test('file names are in kebab-case, and none is index, utils, helpers, common, shared or types', () => {
    const names = FILES.map(({ path }) => path.split('/').at(-1) ?? '');
    expect(names.filter((name) => !/^[a-z0-9]+(?:-[a-z0-9]+)*\.tsx?$/.test(name))).toEqual([]);
    expect(
      names.filter((name) => /^(?:index|utils?|helpers?|common|shared|types)\./.test(name)),
    ).toEqual([]);
  });
});
