import { expect } from 'vitest';
import type { Row } from '../../src/access/access.ts';
import {
  applyEdits,
  differencesAfter,
  type Edit,
  type Move,
  type Rewriter,
} from '../../src/brands/rewrite.ts';
import { bind, bindClause, bindList } from '../../src/brands/bind/brand.ts';
import { rightsOf, type Brand } from '../../src/brands/brand.ts';
import { knot, knotKey, knotRule } from '../../src/brands/knot/brand.ts';
import { nsd, nsdKey, nsdPattern } from '../../src/brands/nsd/brand.ts';
import { grantsOf } from '../../src/brands/desired-state.ts';
import { canonicalKey, type Key } from '../../src/formats/key.ts';

interface Writer {
  readonly brand: Brand;
  write(keys: readonly Key[], lists: ReadonlyMap<string, readonly string[]>): string;
}

const WRITERS: Readonly<Record<'bind' | 'knot' | 'nsd', Writer>> = {
  bind: {
    brand: bind,
    write: (keys, lists) =>
      keys.map(bindClause).join('') +
      [...lists].map(([name, members]) => bindList(name, members)).join(''),
  },
  knot: {
    brand: knot,
    write: (keys, lists) =>
      `key:\n${keys.map(knotKey).join('')}acl:\n${[...lists].map(([name, members]) => knotRule(name, members)).join('')}`,
  },
  nsd: {
    brand: nsd,
    write: (keys, lists) =>
      keys.map(nsdKey).join('') +
      [...lists].map(([name, members]) => nsdPattern(name, members)).join(''),
  },
};

/** Returns Tsigil's file with keys and their rights, as the driver writes it. */
export function ownFile(
  format: keyof typeof WRITERS,
  path: string,
  keys: readonly Key[],
  zones: readonly string[],
  rows: readonly Row[],
) {
  const { brand, write } = WRITERS[format];
  const canonical = keys.map(canonicalKey);
  const accessOf = (name: string) =>
    Object.fromEntries(
      rows.filter(({ key }) => key === name).map(({ right, zones: own }) => [right, own]),
    );
  const desired = canonical.map((key) => ({
    ...key,
    id: key.name,
    version: 1,
    access: accessOf(key.name),
  }));
  const lists = grantsOf({ zones, keys: desired }, { rights: rightsOf(brand) });
  return { path, text: write(canonical, lists) };
}

/** A configuration in several files. The first is the main file. */
export type Files = Readonly<Record<string, string>>;

export const OWN = '/etc/tsigil/keys.conf';

/**
 * Rewrites a configuration, expects that this changes nothing of who may do what, and returns the
 * files that change.
 */
export function rewritten(
  format: keyof typeof WRITERS,
  rewrite: Rewriter,
  files: Files,
  move: Pick<Move, 'rows'> & { readonly keys: readonly Key[] },
): Record<string, string> {
  const [path = '', text = ''] = Object.entries(files)[0] ?? [];
  const source = {
    path,
    text,
    include: ({ pattern }: { readonly pattern: string }) => [
      { path: pattern, text: files[pattern] ?? '' },
    ],
  };
  const names = move.keys.map((key) => canonicalKey(key).name);
  const edits = rewrite(source, { keys: new Set(names), rows: move.rows, file: OWN });
  const zones = [...new Set(move.rows.flatMap((row) => row.zones))];
  const own = ownFile(format, OWN, move.keys, zones, move.rows);
  expect(differencesAfter(format, source, edits, own)).toEqual([]);
  return changedFiles(files, edits);
}

function changedFiles(files: Files, edits: readonly Edit[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).flatMap(([path, text]) => {
      const own = edits.filter(({ file }) => file === path);
      return own.length === 0 ? [] : [[path, applyEdits(text, own)]];
    }),
  );
}
