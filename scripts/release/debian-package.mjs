// Builds the package for Debian and its derivatives. The package contains all dependencies except
// Node.js.
import { chmodSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeDeb, write } from './deb.mjs';
import { copy, copyAll, filesBelow, run } from './files.mjs';
import { dependenciesOf, nameOf, readJson } from './program.mjs';

/** The folders of the program and of its documents in the package. */
const HOME = 'usr/lib/tsigil';
const DOCUMENTS = 'usr/share/doc/tsigil';

/** Files in deploy/debian, and their paths in the package. */
const FILES = {
  start: 'usr/bin/tsigil',
  'tsigil.yaml': 'etc/tsigil/tsigil.yaml',
  'sysusers.conf': 'usr/lib/sysusers.d/tsigil.conf',
  'tmpfiles.conf': 'usr/lib/tmpfiles.d/tsigil.conf',
};

/** Replacements in the systemd units: paths of a checkout in /opt become paths of the package. */
const MOVES = [
  ['/usr/bin/node /opt/tsigil/dist/main.js', '/usr/bin/tsigil'],
  ['/opt/tsigil/docs', `/${DOCUMENTS}/docs`],
  ['/etc/systemd/system/', '/usr/lib/systemd/system/'],
];

/** The documents for users and operators. The others are for contributors, who have a checkout. */
const PAGES = ['CHANGELOG.md', 'README.md', 'SECURITY.md', 'docs', 'deploy'];
const FOR_CONTRIBUTORS = [
  'docs/adding-a-brand.md',
  'docs/decisions',
  'docs/tsigil.1',
  'deploy/debian',
  'deploy/demo',
];

const COMPLETIONS = {
  bash: 'usr/share/bash-completion/completions/tsigil',
  zsh: 'usr/share/zsh/vendor-completions/_tsigil',
  fish: 'usr/share/fish/vendor_completions.d/tsigil.fish',
};

/** Names of files in dependencies that Node.js can load, and names of licence files. */
const LOADED = /\.(?:[cm]?js|json|node)$|^(?:licen[cs]e|notice)\b/i;
/** Paths in dependencies that the program never loads: hidden files, and folders such as docs. */
const UNUSED = /(?:^|\/)(?:\.|(?:bench\w*|docs|examples?|integration|scripts|spec|tests?|tools)\/)/;

/** The name of the SQLite binary for glibc, Debian's C library. */
const GLIBC = '@photostructure+sqlite.glibc.node';

/**
 * Writes the .deb for one architecture into the folder `target`. `root` is a new folder for the
 * files of the package.
 */
export function makeDebianPackage({ checkout, program, root, target, architecture, cpu, time }) {
  const about = readJson(join(program, 'package.json'));
  copyAll(program, ['dist', 'package.json'], join(root, HOME));
  withoutInterpreter(join(root, HOME, 'dist/main.js'));
  copyDependencies(checkout, join(root, HOME), cpu);

  const deploy = join(checkout, 'deploy');
  for (const [name, path] of Object.entries(FILES))
    copy(join(deploy, 'debian', name), join(root, path));
  chmodSync(join(root, FILES.start), 0o755);
  for (const unit of readdirSync(deploy).filter((name) => name.endsWith('.service')))
    write(
      join(root, 'usr/lib/systemd/system', unit),
      moved(readFileSync(join(deploy, unit), 'utf8')),
    );
  for (const [shell, path] of Object.entries(COMPLETIONS))
    write(
      join(root, path),
      run(process.execPath, [join(root, HOME, 'dist/main.js'), 'completion', shell], root),
    );
  const page = readFileSync(join(program, 'docs/tsigil.1'));
  write(join(root, 'usr/share/man/man1/tsigil.1.gz'), gzipSync(page, { level: 9 }));
  writeDocuments(checkout, join(root, DOCUMENTS));
  const node = about.engines.node.replace('>=', '');
  makeDeb({
    root,
    target,
    control: join(deploy, 'debian/control'),
    values: { VERSION: about.version, ARCHITECTURE: architecture, NODE: node },
    about,
    news: '/usr/share/doc/tsigil/CHANGELOG.md lists the changes.',
    time,
    conffiles: ['/etc/tsigil/tsigil.yaml'],
    scripts: ['postinst', 'prerm', 'postrm'],
  });
}

/** Removes the interpreter from a program that another program starts. */
function withoutInterpreter(path) {
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^#!.*/, ''));
  chmodSync(path, 0o644);
}

/**
 * Copies the dependencies of the program. Throws if an installed version differs from
 * package-lock.json.
 */
function copyDependencies(checkout, home, cpu) {
  for (const { path, version } of dependenciesOf(checkout)) {
    const installed = readJson(join(checkout, path, 'package.json')).version;
    if (installed !== version)
      throw new Error(`${path} has version ${installed} instead of ${version}. Run npm ci.`);
    const nested = join(checkout, path, 'node_modules');
    copy(join(checkout, path), join(home, path), (source) => source !== nested);
  }
  const dependencies = join(home, 'node_modules');
  for (const path of filesBelow(dependencies)) {
    const file = join(dependencies, path);
    const compiled = path.endsWith('.node') && !path.includes(`/linux-${cpu}/${GLIBC}`);
    const isCommand = readFileSync(file, 'latin1').startsWith('#!');
    if (UNUSED.test(path) || !LOADED.test(basename(path)) || compiled || isCommand) rmSync(file);
    else chmodSync(file, 0o644);
  }
  run('find', [home, '-type', 'd', '-empty', '-delete'], checkout);
}

function writeDocuments(checkout, target) {
  copyAll(checkout, PAGES, target);
  for (const path of FOR_CONTRIBUTORS) rmSync(join(target, path), { recursive: true });
  for (const path of filesBelow(target).filter((name) => name.endsWith('.md'))) {
    const page = join(target, path);
    writeFileSync(page, withoutBrokenLinks(readFileSync(page, 'utf8'), dirname(page)));
  }
  const licences = dependenciesOf(checkout).map(({ path, version, license }) => {
    return ` ${nameOf(path)} ${version}: ${license}`;
  });
  const copyright = readFileSync(join(checkout, 'deploy/debian/copyright'), 'utf8');
  write(join(target, 'copyright'), copyright.replace(/^ DEPENDENCIES$/m, licences.join('\n')));
}

/** Replaces each link to a file that does not exist with the text of the link. */
function withoutBrokenLinks(text, folder) {
  return text.replaceAll(/\[([^\]]+)\]\(([^)#:]+)(?:#[^)]*)?\)/g, (link, words, path) =>
    existsSync(join(folder, path)) ? link : words,
  );
}

function moved(unit) {
  return MOVES.reduce((text, [from, to]) => text.replaceAll(from, to), unit);
}
