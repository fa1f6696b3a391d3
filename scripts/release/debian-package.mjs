// Builds the package for Debian and its derivatives. The package contains all dependencies.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { copy, copyAll, filesBelow, run } from './files.mjs';
import { dependenciesOf, nameOf, readJson } from './program.mjs';

/** The folders of the program and of its documents in the package. */
const HOME = 'usr/lib/tsigil';
const DOCUMENTS = 'usr/share/doc/tsigil';

/** Files in deploy/debian, and their paths in the package. */
const FILES = {
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

/** Writes the .deb for one architecture. `root` is a new folder for the files of the package. */
export function makeDebianPackage({ checkout, program, root, file, architecture, cpu, time }) {
  const manifest = readJson(join(program, 'package.json'));
  copyAll(program, ['dist', 'package.json'], join(root, HOME));
  copyDependencies(checkout, join(root, HOME), cpu);
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  symlinkSync('../lib/tsigil/dist/main.js', join(root, 'usr/bin/tsigil'));

  const deploy = join(checkout, 'deploy');
  for (const [name, path] of Object.entries(FILES))
    copy(join(deploy, 'debian', name), join(root, path));
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

  writeDocuments({ checkout, root, manifest, time });
  writeControl({ checkout, root, manifest, architecture });
  const options = ['--root-owner-group', '-Zxz', '--threads-max=1'];
  run('dpkg-deb', [...options, '--build', root, file], checkout, {
    SOURCE_DATE_EPOCH: String(time),
  });
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
    const compiled = path.endsWith('.node') && !path.includes(`/linux-${cpu}/${GLIBC}`);
    const file = join(dependencies, path);
    if (UNUSED.test(path) || !LOADED.test(basename(path)) || compiled) rmSync(file);
    else chmodSync(file, readFileSync(file, 'latin1').startsWith('#!') ? 0o755 : 0o644);
  }
  run('find', [home, '-type', 'd', '-empty', '-delete'], checkout);
}

function writeDocuments({ checkout, root, manifest, time }) {
  const pages = readdirSync(checkout).filter((name) => name.endsWith('.md'));
  copyAll(checkout, [...pages, 'docs', 'deploy'], join(root, DOCUMENTS));
  rmSync(join(root, DOCUMENTS, 'docs/tsigil.1'));
  rmSync(join(root, DOCUMENTS, 'deploy/debian'), { recursive: true });
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000');
  const changes = `${manifest.name} (${manifest.version}) unstable; urgency=medium

  * /usr/share/doc/tsigil/CHANGELOG.md lists the changes.

 -- ${maintainer(manifest)}  ${date}
`;
  write(join(root, DOCUMENTS, 'changelog.gz'), gzipSync(changes, { level: 9 }));
  const licences = dependenciesOf(checkout).map(({ path, version, license }) => {
    return ` ${nameOf(path)} ${version}: ${license}`;
  });
  const copyright = readFileSync(join(checkout, 'deploy/debian/copyright'), 'utf8');
  write(
    join(root, DOCUMENTS, 'copyright'),
    copyright.replace(/^ DEPENDENCIES$/m, licences.join('\n')),
  );
}

function writeControl({ checkout, root, manifest, architecture }) {
  const files = filesBelow(root);
  const kilobytes = files.map((path) => Math.ceil(statSync(join(root, path)).size / 1024));
  const values = {
    VERSION: manifest.version,
    ARCHITECTURE: architecture,
    SIZE: String(kilobytes.reduce((sum, size) => sum + size, 0)),
    NODE: manifest.engines.node.replace('>=', ''),
    HOMEPAGE: manifest.homepage,
    MAINTAINER: maintainer(manifest),
  };
  const source = join(checkout, 'deploy/debian');
  const control = readFileSync(join(source, 'control'), 'utf8');
  const filled = control.replaceAll(/@([A-Z]+)@/g, (_, name) => values[name]);
  write(join(root, 'DEBIAN/control'), filled);
  write(join(root, 'DEBIAN/conffiles'), '/etc/tsigil/tsigil.yaml\n');
  write(
    join(root, 'DEBIAN/md5sums'),
    files.map((path) => `${md5(join(root, path))}  ${path}\n`).join(''),
  );
  for (const script of ['postinst', 'prerm', 'postrm']) {
    copy(join(source, script), join(root, 'DEBIAN', script));
    chmodSync(join(root, 'DEBIAN', script), 0o755);
  }
}

/** Returns the maintainer in Debian's format, with the address for bug reports in package.json. */
function maintainer({ bugs }) {
  return `Tsigil maintainers <${bugs.email}>`;
}

function moved(unit) {
  return MOVES.reduce((text, [from, to]) => text.replaceAll(from, to), unit);
}

function md5(path) {
  return createHash('md5').update(readFileSync(path)).digest('hex');
}

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
