import { chmodSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';

/**
 * The modules that become files with the same names in dist: the program, and the modules that
 * scripts and tests import. All other modules become parts of larger files, which Node.js loads
 * faster.
 */
const ENTRIES = [
  'main',
  'cli/flags/help',
  'cli/output/progress',
  'cli/output/yaml',
  'cli/program',
  'commands',
  'config/config',
  'config/option',
  'config/options',
  'dns/key-check',
  'formats/readers',
  'resources/policy',
  'net/dns',
  'net/probe',
  'version',
];

/**
 * A worker thread, and the module that starts it. Both become files at the top of dist, because
 * the module looks for the worker thread in its folder.
 */
const AT_TOP = {
  'scan-worker': 'sql/sqlite/scans/scan-worker',
  'open-sqlite': 'sql/sqlite/open',
};

/**
 * Loads less of Node.js at the start of a command. For an import of a module of Node.js, it reads
 * every member of the module, and so loads parts that no command uses. The argument parser needs
 * `child_process` only for commands that are programs of their own.
 */
const LESS_OF_NODE = {
  name: 'less-of-node',
  transform(code, id) {
    if (!id.endsWith('/commander/lib/command.js')) return undefined;
    const licence = readFileSync(join(dirname(id), '../LICENSE'), 'utf8');
    return `/*! commander\n${licence}*/\n${code.replace(/^const childProcess = require\(.*\);$/m, '')}`;
  },
  renderChunk: (code) =>
    code.replaceAll(
      /^import \{([^}]*)\} from "(node:[\w/]+)";$/gm,
      (_, names, module) =>
        `const {${names.replaceAll(' as ', ': ')}} = process.getBuiltinModule("${module}");`,
    ),
};

/**
 * Bundles the TypeScript of src in `checkout` into the folder `target`. The modules `entries`
 * become files with the same names. Does not check types.
 */
export async function bundle(checkout, target, entries = ENTRIES) {
  const input = { ...Object.fromEntries(entries.map((name) => [name, name])), ...AT_TOP };
  const build = await rolldown({
    cwd: checkout,
    input: Object.fromEntries(
      Object.entries(input).map(([name, path]) => [name, join(checkout, 'src', `${path}.ts`)]),
    ),
    platform: 'node',
    // Packages and built-in modules of Node.js. Loading the argument parser from its own files would
    // take a sixth of the time of a command.
    external: (id) => /^[^./]/.test(id) && id !== 'commander',
    plugins: [LESS_OF_NODE],
    logLevel: 'warn',
  });
  await build.write({
    dir: target,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: {
      groups: [
        { name: 'version', test: /\/src\/version\.ts$/, priority: 1 },
        { name: 'start', test: /\/src\/commands\.ts$/, priority: 1 },
        { name: 'client', test: /\/src\/resource-table\.ts$/ },
      ],
    },
    charset: 'ascii', // Node.js reads a file with other characters into twice the memory
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await build.close();
  if (entries.includes('main')) chmodSync(join(target, 'main.js'), 0o755);
}
