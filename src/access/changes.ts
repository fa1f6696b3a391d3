import { RIGHTS, type Right } from './rights.ts';
import type { Matrix, Row } from './access.ts';

export interface RightChange {
  readonly key: string;
  readonly right: Right;
  /** The zones in which the key has the right for all requests today. */
  readonly before: readonly string[];
  /** The zones in which the key has the right only for some requests today. */
  readonly limited: readonly string[];
  readonly after: readonly string[];
}

/** Returns the zones in which `rows` give a key a right. No row names a zone twice. */
export function zonesIn(rows: readonly Row[], key: string, right: Right): readonly string[] {
  const [first, ...others] = rows.filter((row) => row.key === key && row.right === right);
  if (first === undefined || others.length === 0) return first?.zones ?? [];
  return [...new Set([first, ...others].flatMap(({ zones }) => zones))];
}

/** Returns the grants that say what `rows` give a key, in the zones with these ids. */
export function grantsFrom(
  rows: readonly Row[],
  key: string,
  ids: ReadonlyMap<string, string>,
): { readonly rights: readonly Right[]; readonly zones: readonly string[] }[] {
  return RIGHTS.flatMap((right) => {
    const zones = zonesIn(rows, key, right).flatMap((name) => ids.get(name) ?? []);
    return zones.length === 0 ? [] : [{ rights: [right], zones }];
  });
}

/** Returns each right that a key has today, or will have in the zones that `after` returns. */
export function changesOf(
  { rows, kept }: Matrix,
  key: string,
  after: (right: Right) => readonly string[],
): RightChange[] {
  const partial = kept.filter((row) => row.partial);
  return RIGHTS.flatMap((right): RightChange[] => {
    const before = zonesIn(rows, key, right);
    const some = zonesIn(partial, key, right);
    const isWhole = new Set(some.length === 0 ? [] : before);
    const limited = some.filter((name) => !isWhole.has(name));
    const then = after(right);
    return before.length + limited.length + then.length === 0
      ? []
      : [{ key, right, before, limited, after: then }];
  });
}
