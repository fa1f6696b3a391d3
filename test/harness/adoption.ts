import { matrixOf } from '../../src/access/access.ts';
import { readBindAccess } from '../../src/brands/bind/access.ts';
import { differencesAfter } from '../../src/brands/rewrite.ts';
import { rewriteBind } from '../../src/brands/bind/rewrite.ts';
import { bindClause, bindList } from '../../src/brands/bind/brand.ts';
import { listName, RIGHTS } from '../../src/access/rights.ts';

/** The path of Tsigil's file. */
export const OWN = '/etc/bind/tsigil/keys.conf';

/**
 * Returns the edits for all keys and rights of a configuration of BIND, except those of `left`, and
 * Tsigil's file.
 */
export function adoptionOf(text: string, left: readonly string[] = []) {
  const source = { path: 'named.conf', text, include: () => [] };
  const configuration = readBindAccess(text);
  const { rows } = matrixOf(configuration);
  const keys = configuration.keys.filter(({ key }) => !left.includes(key.name));
  const names = new Set(keys.map(({ key }) => key.name.toLowerCase()));
  const moved = rows.filter(({ key }) => names.has(key));
  const zones = [undefined, ...new Set(configuration.zones.map(({ name }) => name))];
  const lists = zones.flatMap((zone) =>
    RIGHTS.map((right) =>
      bindList(
        listName(right, zone),
        moved.flatMap((row) =>
          row.right === right && zone !== undefined && row.zones.includes(zone) ? [row.key] : [],
        ),
      ),
    ),
  );
  const own = { path: OWN, text: [...keys.map(({ key }) => bindClause(key)), ...lists].join('') };
  const edits = rewriteBind(source, { keys: names, rows: moved, file: OWN });
  return { source, edits, own, differences: () => differencesAfter('bind', source, edits, own) };
}
