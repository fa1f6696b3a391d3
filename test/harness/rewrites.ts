import { expect } from 'vitest';
import type { Row } from '../../src/access/access.ts';
import {
  applyEdits,
  differencesAfter,
  type Edit,
  type Move,
  type Rewriter,
} from '../../src/brands/rewrite.ts';
import { rightsOf } from '../../src/brands/brand.ts';
import { BRANDS as ENTRIES } from '../../src/brands/brands.ts';
import { grantsOf } from '../../src/brands/desired-state.ts';
import { canonicalKey, type Key } from '../../src/formats/key.ts';
import type { Brand } from './brands/brand.ts';

/** Returns Tsigil's file with keys and their rights, as the driver writes it. */
export function ownFile(
  { driver, include }: Pick<Brand, 'driver' | 'include'>,
  path: string,
  keys: readonly Key[],
  zones: readonly string[],
  rows: readonly Row[],
) {
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
  const lists = grantsOf({ zones, keys: desired }, { rights: rightsOf(ENTRIES[driver]) });
  return { path, text: include?.write(canonical, lists) ?? '' };
}

/** A configuration in several files. The first is the main file. */
export type Files = Readonly<Record<string, string>>;

export const OWN = '/etc/tsigil/keys.conf';

/**
 * Rewrites a configuration, expects that this changes nothing of who may do what, and returns the
 * files that change.
 */
export function rewritten(
  brand: Brand,
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
  const own = ownFile(brand, OWN, move.keys, zones, move.rows);
  expect(differencesAfter(brand.driver, source, edits, own)).toEqual([]);
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
