import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

/** The style sheets, in the order in which they become one file. */
const STYLES = ['tokens', 'base', 'controls', 'shell', 'lists', 'screens'];

/** The path of the console below the address of the service. The service replaces it in the page. */
const PREFIX = '/console/assets/';

/**
 * Bundles the web console of `checkout` into the folder `target`: index.html, and everything else
 * with the hash of its content in its name. Does not check types.
 */
export async function bundleConsole(checkout, target) {
  const source = join(checkout, 'src/console');
  const assets = join(target, 'assets');
  const build = await rolldown({
    cwd: checkout,
    input: { console: join(source, 'main.tsx') },
    platform: 'browser',
    tsconfig: join(source, 'tsconfig.json'),
    transform: { target: 'es2022' },
    resolve: {
      alias: { 'node:url': join(source, 'node-url.ts'), 'node:net': join(source, 'node-net.ts') },
    },
    logLevel: 'warn',
  });
  const { output } = await build.write({
    dir: assets,
    format: 'esm',
    minify: true,
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
    comments: { legal: false, annotation: false, jsdoc: false },
  });
  await build.close();

  const write = (name, extension, text) => {
    const hash = createHash('sha256').update(text).digest('base64url').slice(0, 8);
    const file = `${name}-${hash}.${extension}`;
    writeFileSync(join(assets, file), text);
    return PREFIX + file;
  };
  const styles = STYLES.map((name) => readFileSync(join(source, `style/${name}.css`), 'utf8'));
  const entry = output.find(({ isEntry }) => isEntry);
  const links = {
    ICON: write('icon', 'svg', readFileSync(join(source, 'icon.svg'), 'utf8')),
    STYLE: write('console', 'css', minified(styles.join('\n'))),
    SCRIPT: PREFIX + entry.fileName,
    PRELOADS: entry.imports
      .map((file) => `<link rel="modulepreload" href="${PREFIX}${file}" />`)
      .join('\n    '),
  };
  const page = readFileSync(join(source, 'index.html'), 'utf8');
  writeFileSync(
    join(target, 'index.html'),
    page.replaceAll(/%([A-Z]+)%/g, (_, name) => links[name]),
  );
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds);
  writeFileSync(join(target, 'LICENSES.txt'), licences(modules));
}

/** Returns a style sheet without comments and blanks that have no meaning. */
function minified(css) {
  return css
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,>]) ?/g, '$1')
    .replaceAll(/([{;][a-z-]+): /g, '$1:')
    .replaceAll(';}', '}')
    .trim();
}

/** Returns the names, versions and licences of the packages of the modules `paths`. */
function licences(paths) {
  const folders = new Set(
    paths.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
  );
  return [...folders]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(
        readFileSync(join(folder, 'package.json'), 'utf8'),
      );
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
      const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
      return `${name} ${version} (${license})\n\n${text}`;
    })
    .join('\n----\n\n');
}
