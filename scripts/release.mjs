// Writes the files of a release into FOLDER (default: release/): node scripts/release.mjs [FOLDER].
// The same commit always gives the same bytes, with the same versions of Node.js, npm and dpkg-deb.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeDebianPackage } from './release/debian-package.mjs';
import { archive, copyAll, run } from './release/files.mjs';
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

/**
 * Returns the modification time of all files, in seconds since 1970: SOURCE_DATE_EPOCH, or the time
 * of the commit. Without SOURCE_DATE_EPOCH, throws if the checkout differs from the commit.
 */
function releaseTime() {
  if (process.env.SOURCE_DATE_EPOCH !== undefined) return Number(process.env.SOURCE_DATE_EPOCH);
  const changes = run('git', ['status', '--porcelain'], CHECKOUT);
  if (changes !== '')
    throw new Error(
      `The checkout differs from its commit:\n${changes}Commit the changes, or set SOURCE_DATE_EPOCH to release them.`,
    );
  return Number(run('git', ['log', '-1', '--format=%ct'], CHECKOUT));
}

/** Writes SHA256SUMS for all other files in `folder`. */
function writeChecksums(folder) {
  const names = readdirSync(folder).sort();
  const lines = names.map((name) => {
    const hash = createHash('sha256').update(readFileSync(join(folder, name)));
    return `${hash.digest('hex')}  ${name}\n`;
  });
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

async function release(target) {
  const time = releaseTime();
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
      const file = join(target, `${name}_${version}_${architecture}.deb`);
      makeDebianPackage({ checkout: CHECKOUT, program, root, file, architecture, cpu, time });
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

const target = resolve(process.argv[2] ?? join(CHECKOUT, 'release'));
await release(target);
process.stdout.write(readFileSync(join(target, 'SHA256SUMS'), 'utf8'));
