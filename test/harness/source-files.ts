import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize } from 'node:path';

const IMPORT =
  /^(?:import|export)\b( type\b)?[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm;

const SRC = join(import.meta.dirname, '../../src');

/** The files of src, with what they import: other files by their paths in src, and packages. */
export const SOURCE_FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8');
    const named = [...text.matchAll(IMPORT)].map(([, type, from, bare, dynamic]) => ({
      isType: type !== undefined,
      name: from ?? bare ?? dynamic ?? '',
    }));
    const own = named.filter(({ name }) => name.startsWith('.'));
    const pathOf = ({ name }: (typeof named)[number]) => normalize(join(dirname(path), name));
    return {
      path,
      text,
      folder: folderOf(path),
      imports: own.map(pathOf),
      /** Without imports of types alone. */
      values: own.filter(({ isType }) => !isType).map(pathOf),
      packages: named.flatMap(({ name }) => (name.startsWith('.') ? [] : packageOf(name))),
    };
  });

export type SourceFile = (typeof SOURCE_FILES)[number];

/** Returns the first folder below src, or an empty text for a file in src itself. */
export function folderOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? '') : '';
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

export function isBuiltIn(name: string): boolean {
  return name.startsWith('node:') || builtinModules.includes(name);
}

/** Returns the imports that are not allowed, as `importer -> imported`. */
export function straysOf(
  files: readonly SourceFile[],
  isAllowed: (target: string, importer: SourceFile) => boolean,
): string[] {
  return files.flatMap((file) =>
    file.imports
      .filter((target) => !isAllowed(target, file))
      .map((target) => `${file.path} -> ${target}`),
  );
}

/** Returns the circles of imports, each as the paths of its files. */
export function importCycles(): string[] {
  const importsOf = new Map(SOURCE_FILES.map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
    if (done.has(path) || trail.includes(path)) return;
    for (const target of importsOf.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const { path } of SOURCE_FILES) visit(path, []);
  return cycles;
}
