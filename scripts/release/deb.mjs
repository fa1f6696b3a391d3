// Writes .deb files whose bytes depend only on their content and on the version of dpkg-deb.
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { copy, filesBelow, run } from './files.mjs';

/**
 * Writes the .deb with the files in `root`, and returns the name of the .deb in the folder `target`.
 * The template in the file `control` contains names of `values` between `@`; `values` always has the
 * size and what `about`, a package.json, states. `scripts` are files for dpkg. `news` is the line of
 * the changelog.
 */
export function makeDeb({
  root,
  target,
  control,
  values,
  about,
  news,
  time,
  conffiles = [],
  scripts = [],
}) {
  const { name } = about;
  const maintainer = `Tsigil maintainers <${about.bugs.email}>`;
  const version = values.VERSION;
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000');
  const changes = `${name} (${version}) unstable; urgency=medium\n\n  * ${news}\n\n -- ${maintainer}  ${date}\n`;
  write(join(root, 'usr/share/doc', name, 'changelog.gz'), gzipSync(changes, { level: 9 }));

  const files = filesBelow(root);
  const kilobytes = files.map((path) => Math.ceil(statSync(join(root, path)).size / 1024));
  const known = {
    SIZE: String(kilobytes.reduce((sum, size) => sum + size, 0)),
    HOMEPAGE: about.homepage,
    MAINTAINER: maintainer,
    ...values,
  };
  const filled = readFileSync(control, 'utf8').replaceAll(/@([A-Z]+)@/g, (_, key) => known[key]);
  const meta = (file) => join(root, 'DEBIAN', file);
  write(meta('control'), filled);
  if (conffiles.length > 0) write(meta('conffiles'), conffiles.map((path) => `${path}\n`).join(''));
  write(meta('md5sums'), files.map((path) => `${md5(join(root, path))}  ${path}\n`).join(''));
  for (const script of scripts) {
    copy(join(dirname(control), script), meta(script));
    chmodSync(meta(script), 0o755);
  }
  const file = `${name}_${version}_${values.ARCHITECTURE}.deb`;
  const options = ['--root-owner-group', '-Zxz', '--threads-max=1'];
  run('dpkg-deb', [...options, '--build', root, join(target, file)], target, {
    SOURCE_DATE_EPOCH: String(time),
  });
  return file;
}

/** Writes a file, and the folders that it needs. */
export function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function md5(path) {
  return createHash('md5').update(readFileSync(path)).digest('hex');
}
