import { createRequire } from 'node:module';
import { plainLines } from './plain-text.ts';

const load = createRequire(import.meta.url);

/**
 * Returns the YAML library. The first call loads the library, so that other commands do not load
 * its 70 modules.
 */
export function yaml(): typeof import('yaml') {
  return load('yaml') as typeof import('yaml'); // `require` returns the same module as `import`
}

/**
 * Formats a value as YAML. Parsing the text returns an equal value. Text with unprintable
 * characters is in double quotes, because YAML allows escapes only there. So is text that begins
 * with white space, because the indentation of a block hides it: a block of blank lines loses its
 * spaces.
 */
export function formatYaml(value: unknown): string {
  const { Document, isScalar, Scalar, visit } = yaml();
  const document = new Document(value);
  visit(document, (_key, node) => {
    if (!isScalar(node) || typeof node.value !== 'string') return;
    if (plainLines(node.value) !== node.value || /^\s/.test(node.value))
      node.type = Scalar.QUOTE_DOUBLE;
  });
  return plainLines(document.toString());
}
