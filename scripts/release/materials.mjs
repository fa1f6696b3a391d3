// Creates the software bill of materials (SBOM) with npm, as CycloneDX JSON.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './files.mjs';
import { readJson } from './program.mjs';

/**
 * Returns the SBOM of the program and its dependencies. The timestamp of the SBOM is `time`, and
 * the serial number depends only on the content. Writes npm's input files into `folder`, without
 * the packages that only a checkout needs. `npm sbom --omit=dev` would also omit packages that both
 * the program and the tests need.
 */
export function describeMaterials(checkout, folder, time) {
  mkdirSync(folder);
  for (const name of ['package.json', 'package-lock.json']) {
    const content = withoutDevelopment(readJson(join(checkout, name)));
    writeFileSync(join(folder, name), JSON.stringify(content));
  }
  const format = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const printed = run('npm', ['sbom', '--package-lock-only', ...format], folder);
  const materials = JSON.parse(printed);
  const { metadata } = materials;
  delete materials.serialNumber;
  metadata.timestamp = new Date(time * 1000).toISOString();
  metadata.component.name = metadata.component['bom-ref'].split('@')[0];
  const hash = createHash('sha256').update(JSON.stringify(materials)).digest('hex');
  const { $schema, bomFormat, specVersion, ...rest } = materials;
  const serialNumber = `urn:uuid:${uuidOf(hash)}`;
  const whole = { $schema, bomFormat, specVersion, serialNumber, ...rest };
  return `${JSON.stringify(whole, null, 2)}\n`;
}

/** Returns a package.json or package-lock.json without the packages that only a checkout needs. */
function withoutDevelopment(content) {
  const { packages = {} } = content;
  for (const entry of [content, ...Object.values(packages)]) delete entry.devDependencies;
  if (content.packages === undefined) return content;
  const shipped = Object.entries(packages).filter(([, { dev }]) => !dev);
  return { ...content, packages: Object.fromEntries(shipped) };
}

/** Returns a UUID of version 8 (RFC 9562 section 5.8) made from the digits of a hash. */
function uuidOf(hash) {
  const variant = ((parseInt(hash[16], 16) & 3) | 8).toString(16);
  const digits = `${hash.slice(0, 12)}8${hash.slice(13, 16)}${variant}${hash.slice(17, 32)}`;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
