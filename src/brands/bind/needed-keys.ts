import { blockOf, treeOf, wordsOf, type Statement } from './access-lists.ts';
import { allTokens } from '../../formats/read-bind.ts';
import type { Origin, ReadIncluded } from '../../formats/reader.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import type { KeyReferences } from '../driver.ts';

/**
 * The statements that need their keys: without one, BIND refuses its configuration, or fails to
 * request, or sends NOTIFY without a signature. In access lists, it ignores missing keys.
 */
const NEEDING = new Set([
  'also-notify',
  'catalog-zones',
  'controls',
  'masters',
  'parental-agents',
  'primaries',
  'remote-servers',
  'server',
]);

/** Returns each key with the file and the line. `path` is that of `text`. Throws `KeyFileError`. */
export function neededKeys(text: string, include: ReadIncluded, path: string): KeyReferences {
  const found = needingIn(treeOf(allTokens(text, include))).flatMap(signersIn);
  return new Map(
    found
      .map(([key, { line, file }]) => [key, `${file?.path ?? path}:${line}`] as const)
      .toReversed(), // the first place counts
  );
}

function needingIn(statements: readonly Statement[]): Statement[] {
  return statements.flatMap((statement) =>
    NEEDING.has(wordsOf(statement)[0]?.toLowerCase() ?? '')
      ? statement
      : needingIn(blockOf(statement)),
  );
}

/** Returns the keys in `ADDRESS key NAME`, `keys NAME` and `keys { NAME; }`. */
function signersIn({ parts }: Statement): (readonly [key: string, origin: Origin])[] {
  return parts.flatMap((part, index) => {
    const before = parts[index - 1];
    const follows = before !== undefined && 'kind' in before && /^keys?$/i.test(before.text);
    if ('kind' in part) return follows ? [[nameForm(part.text), part] as const] : [];
    if (!follows) return part.flatMap(signersIn);
    return part.flatMap((each) =>
      wordsOf(each).map((word) => [nameForm(word), each.origin] as const),
    );
  });
}
