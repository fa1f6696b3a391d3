import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { BRAND_NAMES } from '../src/brands/brands.ts';
import {
  folderOf,
  importCycles,
  isBuiltIn,
  SOURCE_FILES,
  straysOf,
  type SourceFile,
} from './harness/source-files.ts';

/** The folders of src, from low to high. A folder imports only itself and those before it. */
const LAYERS =
  'dns core net formats access brands resources sql http cli tokens keystone audit delivery rotation uses keys adoption tlds secrets status database backup config console'.split(
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

/** The packages and built-in modules of the files without a role: only functions without effects. */
const PURE = ['node:url', 'node:crypto', 'node:net', 'node:util'];
const IMPURE =
  /Date\.now|new Date\(\)|Math\.random|performance\.|process\.|import \{[^}]*random[^}]*\} from 'node:crypto'/;

function roleOf(path: string): (typeof ROLES)[number] | undefined {
  return ROLES.find(([, file]) => file.test(path));
}

const isShipped = ({ folder, path }: SourceFile) =>
  folder !== 'console' || path.startsWith('console/http/');
const SERVICE = SOURCE_FILES.filter(isShipped);
const FEATURES = SERVICE.filter(({ folder }) => folder !== '' && !ENGINES.includes(folder));
const PLAIN = SERVICE.filter(
  ({ path, folder }) =>
    ['dns', 'core', 'formats', 'resources'].includes(folder) ||
    (FEATURES.some((file) => file.path === path) && roleOf(path) === undefined),
);

describe('imports', () => {
  test('each folder imports only itself and lower ones, and no file directly in src', () => {
    expect([...new Set(SOURCE_FILES.map(({ folder }) => folder))].sort()).toEqual(
      ['', ...LAYERS].sort(),
    );
    const levelOf = (folder: string) => (folder === '' ? Infinity : LAYERS.indexOf(folder));
    const isDown = (target: string, { folder }: SourceFile) =>
      levelOf(folderOf(target)) <= levelOf(folder);
    expect(straysOf(SOURCE_FILES, isDown)).toEqual([]);
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
    const impure = PLAIN.filter(
      ({ packages, text }) => !packages.every(isPure) || IMPURE.test(text),
    );
    expect(impure.map(({ path }) => path)).toEqual([]);
    const isPlain = (target: string) => !['store', 'commands'].includes(roleOf(target)?.[0] ?? '');
    expect(straysOf(PLAIN, isPlain)).toEqual([]);
  });

  test('a brand imports no other brand', () => {
    const brandOf = (path: string) => /^brands\/([a-z]+)\//.exec(path)?.[1];
    const own = SOURCE_FILES.filter(({ path }) => brandOf(path) !== undefined);
    expect(new Set(own.map(({ path }) => brandOf(path)))).toEqual(new Set(BRAND_NAMES));
    const isOwn = (target: string, { path }: SourceFile) =>
      [brandOf(path), undefined].includes(brandOf(target));
    expect(straysOf(own, isOwn)).toEqual([]);
  });

  test('the browser gets only the console, types, and what reads files', () => {
    const own = SOURCE_FILES.filter((file) => file.folder === 'console' && !isShipped(file));
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

  test('each package is imported in one folder, and all are declared', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      dependencies: object;
    };
    const imported = SERVICE.flatMap(({ packages }) => packages.filter((name) => !isBuiltIn(name)));
    expect([...new Set(imported)].sort()).toEqual(Object.keys(dependencies).sort());
    const placesOf = (name: string) =>
      SERVICE.filter(({ folder, packages }) => folder !== '' && packages.includes(name)).map(
        ({ folder }) => folder,
      );
    const isSpread = (name: string) => new Set(placesOf(name)).size > 1;
    expect(Object.keys(dependencies).filter(isSpread)).toEqual([]);
  });

  test('no imports form a cycle', () => {
    expect(importCycles()).toEqual([]);
  });
});

test('file names are in kebab-case, and none is index, utils, helpers, common, shared or types', () => {
  const names = SOURCE_FILES.map(({ path }) => path.split('/').at(-1) ?? '');
  const isPlainName = (name: string) =>
    /^[a-z0-9]+(?:-[a-z0-9]+)*\.tsx?$/.test(name) &&
    !/^(?:index|utils?|helpers?|common|shared|types)\./.test(name);
  expect(names.filter((name) => !isPlainName(name))).toEqual([]);
});
