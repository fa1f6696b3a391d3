// Writes the files of a release into FOLDER (default: release/): node scripts/release.mjs [FOLDER].
// The same commit always gives the same bytes, with the same versions of Node.js, npm and dpkg-deb.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeDebianPackage } from './release/debian-package.mjs';
import { archive, copyAll, releaseTime, run, writeChecksums } from './release/files.mjs';
import { describeMaterials } from './release/materials.mjs';
import { buildProgram } from './release/program.mjs';

const CHECKOUT = resolve(import.meta.dirname, '..');

/**
 * The build context of the container: the Containerfile, `.dockerignore`, and the files to copy.
 */
const CONTAINER_FILES = [
  '.dockerignore',
  'Containerfile',
  'package.json',
  'package-lock.json',
  'scripts',
  'src',
  'tsconfig.build.json',
  'tsconfig.json',
];

/** The Node.js name of each Debian architecture. */
const ARCHITECTURES = { amd64: 'x64', arm64: 'arm64' };

async function release(target) {
  const time = releaseTime(CHECKOUT);
  process.umask(0o022);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), 'tsigil-release-'));
  try {
    const program = join(work, 'program');
    const { name, version, homepage } = await buildProgram(CHECKOUT, program);
    run('npm', ['pack', '--ignore-scripts', '--pack-destination', target], program);

    for (const [architecture, cpu] of Object.entries(ARCHITECTURES)) {
      const root = join(work, architecture);
      makeDebianPackage({ checkout: CHECKOUT, program, root, target, architecture, cpu, time });
    }

    const context = `${name}-${version}-container`;
    copyAll(CHECKOUT, CONTAINER_FILES, join(work, context));
    archive(join(work, context), join(target, `${context}.tar.gz`), time);

    const materials = describeMaterials(CHECKOUT, join(work, 'materials'), time);
    writeFileSync(join(target, `${name}-${version}.cdx.json`), materials);
    writeChecksums(target);
    if (homepage.includes('REPLACE-ME'))
      process.stderr.write(
        'package.json contains the placeholder REPLACE-ME. Replace it before you publish.\n',
      );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

await release(resolve(process.argv[2] ?? join(CHECKOUT, 'release')));
