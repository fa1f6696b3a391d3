import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BRAND_NAMES } from '../src/domain/brands/brands.ts';

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

function folderOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? '') : '';
}

/** Returns the imports of `files` that are not allowed, as `importer -> imported`. */
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

const packagesOf = (files: readonly SourceFile[]) => files.flatMap(({ packages }) => packages);
const filesIn = (wanted: string) => FILES.filter(({ folder }) => folder === wanted);
const textOf = ({ path }: SourceFile) => readFileSync(join(SRC, path), 'utf8');

/**
 * The subfolders of each folder, from low to high. A subfolder may import only itself, lower
 * subfolders and those in the same list. '' means the files in the folder itself.
 */
const ROOMS: Record<string, (string | string[])[]> = {
  domain: [
    'text',
    'tld-lists',
    'audit',
    'model',
    'encryption',
    'scheduling',
    'dns',
    'key-formats',
    'brands',
    'access',
    'export-formats',
    'resources',
    'delivery',
    'rules',
    'operations',
    'rotation',
    'actions',
  ],
  http: ['metrics', 'connection', 'request', 'admission', 'openapi', 'docs', ''],
  store: [
    'sql',
    'migrations',
    'audit',
    'secrets',
    'delivery',
    'sqlite/connection',
    'sqlite/scans',
    'sqlite',
    'postgres',
    '',
  ],
  nameservers: [['', 'bind', 'knot', 'nsd', 'powerdns'], 'reconciler', 'agents'],
  cli: [
    'output',
    'service',
    'flags',
    'imports',
    'commands/tsigkey',
    'commands/audit',
    'commands/nameserver',
    'commands',
    '',
  ],
};

describe('imports', () => {
  test.each(Object.keys(ROOMS))(
    'each subfolder of %s imports only itself and lower subfolders',
    (top) => {
      const rooms = ROOMS[top] ?? [];
      const levelOf = (path: string) => {
        const room = dirname(path).slice(top.length + 1);
        return rooms.findIndex((each) => [each].flat().includes(room));
      };
      const own = filesIn(top);
      expect(own.filter(({ path }) => levelOf(path) < 0).map(({ path }) => path)).toEqual([]);
      const isDownward = (target: string, { path }: SourceFile) =>
        folderOf(target) !== top || levelOf(target) <= levelOf(path);
      expect(straysOf(own, isDownward)).toEqual([]);
    },
  );

  test('a driver imports no other driver, no reconciler and no agent', () => {
    const roomOf = (path: string) => /^nameservers\/([a-z]+)\//.exec(path)?.[1];
    const drivers = FILES.filter(({ path }) => BRAND_NAMES.some((name) => name === roomOf(path)));
    expect(new Set(drivers.map(({ path }) => roomOf(path))).size).toBe(BRAND_NAMES.length);
    const isOwn = (target: string, { path }: SourceFile) =>
      [roomOf(path), undefined].includes(roomOf(target));
    expect(straysOf(drivers, isOwn)).toEqual([]);
  });

  test('the scan finds source files and imports', () => {
    expect(FILES.length).toBeGreaterThan(30);
    expect(FILES.flatMap(({ imports }) => imports).length).toBeGreaterThan(60);
  });

  test('the domain imports only itself and pure functions of Node.js', () => {
    const domain = filesIn('domain');
    expect(straysOf(domain, (target) => folderOf(target) === 'domain')).toEqual([]);
    const pure = ['node:url', 'node:crypto', 'node:net', 'node:util'];
    expect(packagesOf(domain).filter((name) => !pure.includes(name))).toEqual([]);
  });

  test('the domain takes time, ids and randomness as arguments', () => {
    const impure =
      /Date\.now|new Date\(\)|Math\.random|performance\.|process\.|import \{[^}]*random[^}]*\} from 'node:crypto'/;
    expect(filesIn('domain').filter((file) => impure.test(textOf(file)))).toEqual([]);
  });

  test('only one function changes resources', () => {
    const writers = FILES.filter((file) => /\bstore\b[^;]*\.write\(/.test(textOf(file)));
    expect(writers.map(({ path }) => path)).toEqual(['domain/operations/change.ts']);
    const callers = FILES.filter((file) =>
      /\bwriter\.(?:insert|replace|remove|putAll|removeAll)\(/.test(textOf(file)),
    );
    // store/copy.ts copies rows to another database, and changes no resource.
    expect(callers.map(({ path }) => path).sort()).toEqual([
      'domain/operations/change.ts',
      'store/copy.ts',
    ]);
  });

  test('an adapter imports only the domain, net and itself', () => {
    const adapters = FILES.filter(({ folder }) => !['', 'domain', 'net'].includes(folder));
    const isAllowed = (target: string, { folder }: SourceFile) =>
      ['domain', 'net', folder].includes(folderOf(target));
    expect(straysOf(adapters, isAllowed)).toEqual([]);
  });

  test('the console imports itself, types of the domain, and its readers of files and concurrency', () => {
    const own = filesIn('console');
    expect(own.length).toBeGreaterThan(20);
    expect(straysOf(own, (target) => ['console', 'domain'].includes(folderOf(target)))).toEqual([]);
    const values =
      /^import (?!type\b)[^;]*? from '(?:\.\.\/)+domain\/(?!tld-lists\/|access\/|key-formats\/|text\/(?:dns-name|name-patterns)|scheduling\/concurrency)/m;
    expect(own.filter((file) => values.test(textOf(file))).map(({ path }) => path)).toEqual([]);
    expect([...new Set(packagesOf(own))].sort()).toEqual(['@preact/signals', 'preact']);
    const others = FILES.filter(({ folder }) => folder !== 'console');
    expect(straysOf(others, (target) => folderOf(target) !== 'console')).toEqual([]);
    expect(packagesOf(others).filter((name) => name.includes('preact'))).toEqual([]);
  });

  test('net imports only itself and the folders dns, model and text of the domain', () => {
    const net = filesIn('net');
    const isAllowed = (target: string) => /^(?:net\/|domain\/(?:dns|model|text)\/)/.test(target);
    expect(straysOf(net, isAllowed)).toEqual([]);
    expect(packagesOf(net).filter((name) => !isBuiltIn(name))).toEqual([]);
  });

  test('only net sends HTTP requests and datagrams', () => {
    const sends =
      /import \{[^}]*\b(?:request|get|Agent)\b[^}]*\} from 'node:https?'|getBuiltinModule\('node:https?'|from 'node:dgram'|\bfetch\(/;
    const clients = FILES.filter((file) => file.folder !== 'net' && sends.test(textOf(file)));
    // The console runs in browsers.
    expect(clients.map(({ path }) => path)).toEqual(['console/requests.ts']);
  });

  test('the configuration imports only the domain, itself, net/faults.ts, net/files.ts and the package yaml', () => {
    const configuration = filesIn('config');
    expect(configuration.length).toBeGreaterThan(5);
    const isAllowed = (target: string) =>
      ['domain', 'config'].includes(folderOf(target)) ||
      ['net/faults.ts', 'net/files.ts'].includes(target);
    expect(straysOf(configuration, isAllowed)).toEqual([]);
    const packages = packagesOf(configuration).filter((name) => !isBuiltIn(name));
    expect(new Set(packages)).toEqual(new Set(['yaml']));
  });

  test('each package is imported in one folder only, except by files in src itself and yaml in config', () => {
    const folders = new Map<string, Set<string>>();
    for (const { folder, packages } of FILES.filter((file) => file.folder !== '')) {
      for (const name of packages.filter(
        (name) => !isBuiltIn(name) && !(folder === 'config' && name === 'yaml'),
      ))
        folders.set(name, (folders.get(name) ?? new Set()).add(folder));
    }
    const spread = [...folders].filter(([, places]) => places.size > 1);
    expect(spread.map(([name, places]) => `${name}: ${[...places].join(', ')}`)).toEqual([]);
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
