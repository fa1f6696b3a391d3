// Builds the published program, without the files and settings that only a checkout needs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../bundle.mjs';
import { copyAll } from './files.mjs';

/**
 * The files of the package besides dist/ and package.json. npm pack always adds README.md and
 * LICENSE.
 */
const FILES = ['docs/tsigil.1', 'CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md'];

/** The members of package.json that only a checkout needs. */
const CHECKOUT_MEMBERS = ['allowScripts', 'devDependencies', 'scripts'];

/** Writes the content of the npm package into `target`. Returns its package.json. */
export async function buildProgram(checkout, target) {
  copyAll(checkout, FILES, target);
  await bundle(checkout, join(target, 'dist'));
  const shipped = new Set(dependenciesOf(checkout).map(({ path }) => nameOf(path)));
  const manifest = publishable(readJson(join(checkout, 'package.json')), shipped);
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/**
 * Returns a package.json without the members that only a checkout needs. npm ignores the overrides
 * of an installed package. The overrides of the packages in `shipped` therefore become
 * dependencies.
 */
function publishable({ dependencies, overrides, ...members }, shipped) {
  const kept = Object.entries(members).filter(([name]) => !CHECKOUT_MEMBERS.includes(name));
  const exact = Object.entries(overrides).filter(([name]) => shipped.has(name));
  return {
    ...Object.fromEntries(kept),
    dependencies: { ...dependencies, ...Object.fromEntries(exact) },
  };
}

/**
 * Returns the path, version and licence of each dependency of the program, from package-lock.json.
 */
export function dependenciesOf(checkout) {
  const { packages } = readJson(join(checkout, 'package-lock.json'));
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path, { version, license }]) => ({ path, version, license }));
}

/** Returns the name of the package in a folder below node_modules. */
export function nameOf(path) {
  return path.replace(/^.*node_modules\//, '');
}

/** Reads a JSON file. */
export function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}
