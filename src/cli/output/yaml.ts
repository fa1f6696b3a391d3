import { Document, isScalar, Scalar, visit } from 'yaml';
import { plainLines } from './plain-text.ts';

/**
 * Formats a value as YAML. Parsing the text returns an equal value. Text with unprintable
 * characters is double-quoted, so that escapes work.
 */
export function formatYaml(value: unknown): string {
  const document = new Document(value);
  visit(document, (_key, node) => {
    if (isScalar(node) && typeof node.value === 'string' && plainLines(node.value) !== node.value)
      node.type = Scalar.QUOTE_DOUBLE;
  });
  return plainLines(document.toString());
}
