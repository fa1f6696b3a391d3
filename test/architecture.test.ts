import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BRAND_NAMES } from '../src/brands/brands.ts';

/** The folders of src, from low to high. A folder imports only itself and those before it. */
const LAYERS =
  'dns core net formats access brands resources sql http cli tokens keystone audit uses delivery rotation keys adoption tlds secrets status database backup config console'.split(
    ' ',
  );

/** The folders that every feature is built from. The others are features. */
const ENGINES = 'dns core net formats resources sql http cli config'.split(' ');

/** What files of a feature may do by their names, and which engines they may import for it. */
const ROLES: readonly (readonly [role: string, file: RegExp, engines: readonly string[]])[] = [
  ['commands', /\/commands(?:\.ts|\/)/, ['cli', 'net']],
  ['store', /\/(?:store|job)(?:\.ts|\/)|^(?:backup|database)\//, ['sql', 'net']],
  ['http', /\/(?:http|metrics)(?:\.ts|\/)/, ['http']],
  // What reaches other servers, and files that other programs own.
  [
    'outside',
    /^(?:brands|keystone)\/|^delivery\/(?:agents|reconciler)\/|^uses\/log-reader|^tokens\/first-token/,
    ['net'],
  ],
];

/** What only a few files do. */
const SPECIAL = [
  {
    what: 'resources change',
    text: /\bstore\b[^;]*\.write\(/,
    files: ['resources/operations/change.ts'],
  },
  {
    what: 'rows of resources change',
    text: /\bwriter\.(?:insert|replace|remove|putAll|removeAll)\(/,
    files: ['backup/copy.ts', 'resources/operations/change.ts'], // a copy fills another database
  },
  {
    what: 'HTTP requests and datagrams outside net leave',
    text: /import \{[^}]*\b(?:request|get|Agent)\b[^}]*\} from 'node:https?'|getBuiltinModule\('node:https?'|from 'node:dgram'|\bfetch\(/,
    files: ['console/requests.ts'], // it runs in browsers
    except: 'net',
  },
  {
    what: 'the environment is read',
    text: /process\.env\b/,
    files: ['command-config.ts', 'commands.ts'],
  },
];

/** The packages and built-in modules of the files without a role: only functions without effects. */
const PURE = ['node:url', 'node:crypto', 'node:net', 'node:util'];
const IMPURE =
  /Date\.now|new Date\(\)|Math\.random|performance\.|process\.|import \{[^}]*random[^}]*\} from 'node:crypto'/;

const IMPORT =
  /^(?:import|export)\b( type\b)?[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm;

const ROOT = join(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
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

type SourceFile = (typeof FILES)[number];

/** Returns the first folder below src, or an empty text for a file in src itself. */
function folderOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? '') : '';
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function isBuiltIn(name: string): boolean {
  return name.startsWith('node:') || builtinModules.includes(name);
}

function roleOf(path: string): (typeof ROLES)[number] | undefined {
  return ROLES.find(([, file]) => file.test(path));
}

/** Returns the imports that are not allowed, as `importer -> imported`. */
function straysOf(
  files: readonly SourceFile[],
  isAllowed: (target: string, importer: SourceFile) => boolean,
): string[] {
  return files.flatMap((file) =>
    file.imports
      .filter((target) => !isAllowed(target, file))
      .map((target) => `${file.path} -> ${target}`),
  );
}

const pathsOf = (files: readonly SourceFile[]) => files.map(({ path }) => path).sort();
const isShipped = ({ folder, path }: SourceFile) =>
  folder !== 'console' || path.startsWith('console/http/');
const SERVICE = FILES.filter(isShipped);
const FEATURES = SERVICE.filter(({ folder }) => folder !== '' && !ENGINES.includes(folder));
const PLAIN = SERVICE.filter(
  ({ path, folder }) =>
    ['dns', 'core', 'formats', 'resources'].includes(folder) ||
    (FEATURES.some((file) => file.path === path) && roleOf(path) === undefined),
);

describe('imports', () => {
  test('each folder imports only itself and lower ones, and no file directly in src', () => {
    expect([...new Set(FILES.map(({ folder }) => folder))].sort()).toEqual(['', ...LAYERS].sort());
    const levelOf = (folder: string) => (folder === '' ? Infinity : LAYERS.indexOf(folder));
    const isDown = (target: string, { folder }: SourceFile) =>
      levelOf(folderOf(target)) <= levelOf(folder);
    expect(straysOf(FILES, isDown)).toEqual([]);
  });

  test('the name of a file in a feature says which engines it imports', () => {
    const isAllowed = (target: string, { path }: SourceFile) => {
      const engine = folderOf(target);
      if (!['sql', 'http', 'cli', 'net'].includes(engine)) return true;
      return roleOf(path)?.[2].includes(engine) === true;
    };
    expect(straysOf(FEATURES, isAllowed)).toEqual([]);
    const commands = FEATURES.filter(({ path }) => roleOf(path)?.[0] === 'commands');
    expect(straysOf(commands, (target) => roleOf(target)?.[0] !== 'store')).toEqual([]);
  });

  test('files without a role have no effects: time, ids and randomness are arguments', () => {
    const isPure = (name: string) => PURE.includes(name);
    expect(PLAIN.filter(({ packages }) => !packages.every(isPure)).map(({ path }) => path)).toEqual(
      [],
    );
    expect(pathsOf(PLAIN.filter(({ text }) => IMPURE.test(text)))).toEqual([]);
    const isPlain = (target: string) => !['store', 'commands'].includes(roleOf(target)?.[0] ?? '');
    expect(straysOf(PLAIN, isPlain)).toEqual([]);
  });

  test('a brand imports no other brand', () => {
    const brandOf = (path: string) => /^brands\/([a-z]+)\//.exec(path)?.[1];
    const own = FILES.filter(({ path }) => brandOf(path) !== undefined);
    expect(new Set(own.map(({ path }) => brandOf(path)))).toEqual(new Set(BRAND_NAMES));
    const isOwn = (target: string, { path }: SourceFile) =>
      [brandOf(path), undefined].includes(brandOf(target));
    expect(straysOf(own, isOwn)).toEqual([]);
  });

  test('the browser gets only the console, types, and what reads files', () => {
    const own = FILES.filter((file) => file.folder === 'console' && !isShipped(file));
    expect(own.length).toBeGreaterThan(20);
    const readable =
      /^(?:console|tlds|access|formats|brands|dns)\/|^core\/text\/(?:dns-name|name-patterns)|^core\/scheduling\/concurrency/;
    expect(
      own.flatMap(({ path, values }) =>
        values.filter((each) => !readable.test(each)).map((each) => `${path} -> ${each}`),
      ),
    ).toEqual([]);
    expect(new Set(own.flatMap(({ packages }) => packages))).toEqual(
      new Set(['@preact/signals', 'preact']),
    );
  });

  test.each(SPECIAL)('$what only in $files', ({ text: wanted, files, except }) => {
    const own = FILES.filter(({ folder, text }) => folder !== except && wanted.test(text));
    expect(own.map(({ path }) => path).sort()).toEqual(files);
  });

  test('each package is imported in one folder, but yaml also in config, and all are declared', () => {
    const folders = new Map<string, Set<string>>();
    for (const { folder, packages } of SERVICE)
      for (const name of packages.filter((each) => !isBuiltIn(each))) {
        const places = folders.get(name) ?? new Set();
        folders.set(
          name,
          folder === '' || (folder === 'config' && name === 'yaml') ? places : places.add(folder),
        );
      }
    const spread = [...folders].filter(([, places]) => places.size > 1);
    expect(spread.map(([name, places]) => `${name}: ${[...places].join(', ')}`)).toEqual([]);
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: object;
    };
    expect([...folders.keys()].sort()).toEqual(Object.keys(dependencies).sort());
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
});

test('file names are in kebab-case, and none is index, utils, helpers, common, shared or types', () => {
  const names = FILES.map(({ path }) => path.split('/').at(-1) ?? '');
  const isPlainName = (name: string) =>
    /^[a-z0-9]+(?:-[a-z0-9]+)*\.tsx?$/.test(name) &&
    !/^(?:index|utils?|helpers?|common|shared|types)\./.test(name);
  expect(names.filter((name) => !isPlainName(name))).toEqual([]);
});
