import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { FORMATS } from '../../src/console/keys/formats.ts';
import { EXPORT_FORMATS } from '../../src/keys/export/export-formats.ts';
import { IMPORT_FORMATS } from '../../src/formats/readers.ts';

const FOLDER = join(import.meta.dirname, '../../dist/console');
const page = readFileSync(join(FOLDER, 'index.html'), 'utf8');
const assets = readdirSync(join(FOLDER, 'assets'));
const sizeOf = (name: string) => gzipSync(readFileSync(join(FOLDER, 'assets', name))).length;

test('the first page loads at most 45 kB of scripts and 8 kB of styles, compressed', () => {
  const loaded = assets.filter((name) => page.includes(name));
  const total = (end: string) =>
    loaded.filter((name) => name.endsWith(end)).reduce((sum, name) => sum + sizeOf(name), 0);
  expect(total('.js')).toBeGreaterThan(5_000);
  expect(total('.js')).toBeLessThanOrEqual(45_000);
  expect(total('.css')).toBeLessThanOrEqual(8_000);
});

test('each script that is loaded later has at most 9 kB, compressed', () => {
  const later = assets.filter((name) => name.endsWith('.js') && !page.includes(name));
  expect(later.length).toBeGreaterThan(1);
  expect(later.filter((name) => sizeOf(name) > 9_000)).toEqual([]);
});

test('the import of keys loads at most 12 kB to read any configuration', () => {
  const known = new Set([...scriptsOf('console'), ...scriptsOf('import-keys')]);
  for (const format of Object.keys(IMPORT_FORMATS)) {
    const loaded = [...scriptsOf(format)].filter((name) => !known.has(name));
    const total = loaded.reduce((sum, name) => sum + sizeOf(name), 0);
    expect(total, format).toBeLessThanOrEqual(12_000);
  }
});

/** Returns the script with this name, and those that it imports at once. */
function scriptsOf(name: string): Set<string> {
  const found = new Set<string>();
  const add = (file: string) => {
    if (found.has(file)) return;
    found.add(file);
    const text = readFileSync(join(FOLDER, 'assets', file), 'utf8');
    for (const [, path] of text.matchAll(/(?:from|import)"\.\/([^"]+\.js)"/g)) add(path ?? '');
  };
  const file = assets.find((each) => new RegExp(`^${name}-[\\w-]{8}\\.js$`).test(each));
  if (file === undefined) throw new Error(`There is no script '${name}'`);
  add(file);
  return found;
}

test('the page has no script, style or data in its text, which its policy forbids', () => {
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|data:/i);
  for (const name of assets) expect(name).toMatch(/-[\w-]{8}\.(?:js|css|svg)$/);
});

test('the licences of everything in the files are listed', () => {
  const licences = readFileSync(join(FOLDER, 'LICENSES.txt'), 'utf8');
  for (const name of ['preact', '@preact/signals', '@preact/signals-core'])
    expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)$`, 'm'));
});

test('the console offers each format in which the service exports keys', () => {
  expect(FORMATS.map(({ name }) => name).sort()).toEqual(Object.keys(EXPORT_FORMATS).sort());
  const secondary = FORMATS.filter(({ isServer }) => isServer === true).map(({ name }) => name);
  const written = Object.entries(EXPORT_FORMATS).filter(([, each]) => 'writeSecondary' in each);
  expect(secondary.sort()).toEqual(written.map(([name]) => name).sort());
});
