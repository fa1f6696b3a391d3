import { useMemo } from 'preact/hooks';
import type { RightChange } from '../../domain/access/changes.ts';
import { zoneText } from '../../domain/text/dns-name.ts';
import { Name } from '../parts/text.tsx';

const MAX_ROWS = 200;
const MAX_COLUMNS = 12;

interface Head {
  readonly name: string;
  /** How many more names have the same cells. */
  readonly more: number;
}

/** What keys may do in zones today, and after an import. Zones with the same rights share a row. */
export function RightsMatrix({ changes }: { changes: readonly RightChange[] }) {
  const { ofKeys, byKey, groups } = useMemo(() => {
    const found = new Map<string, RightChange[]>();
    for (const change of changes) found.set(change.key, [...(found.get(change.key) ?? []), change]);
    const heads = [...found.keys()].map((name) => ({ name, more: 0 }));
    return { ofKeys: heads, byKey: found, groups: groupsOf(changes) };
  }, [changes]);
  // The longer side runs down the page.
  const isByKey = ofKeys.length > groups.length && ofKeys.length > MAX_COLUMNS;
  const rows: readonly Head[] = isByKey ? ofKeys : groups;
  const columns: readonly Head[] = isByKey ? groups : ofKeys;
  const textOf = (row: string, column: string) =>
    isByKey ? cellOf(byKey.get(row) ?? [], column) : cellOf(byKey.get(column) ?? [], row);
  return (
    <>
      <div class="table matrix" tabIndex={0} role="region" aria-label="What each key opens">
        <table>
          <thead>
            <tr>
              <th scope="col">{isByKey ? 'Key' : 'Zone'}</th>
              {columns.slice(0, MAX_COLUMNS).map((column) => (
                <th scope="col" key={column.name}>
                  <HeadText {...column} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MAX_ROWS).map((row) => (
              <tr key={row.name}>
                <th scope="row">
                  <HeadText {...row} />
                </th>
                {columns.slice(0, MAX_COLUMNS).map(({ name }) => (
                  <td key={name}>
                    <Cell text={textOf(row.name, name)} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <More of={rows.length} shown={MAX_ROWS} what={isByKey ? 'keys' : 'rows of zones'} />
      <More of={columns.length} shown={MAX_COLUMNS} what={isByKey ? 'groups of zones' : 'keys'} />
    </>
  );
}

function HeadText({ name, more }: Head) {
  return (
    <>
      <Name text={zoneText(name)} />
      {more === 0 ? null : <span class="muted"> and {more.toLocaleString('en')} more</span>}
    </>
  );
}

/** A cell changes where it has an arrow. */
function Cell({ text }: { text: string }) {
  if (text === '') return <span class="muted">–</span>;
  return <span class={text.includes(ARROW) ? 'warn' : undefined}>{text}</span>;
}

function More({ of, shown, what }: { of: number; shown: number; what: string }) {
  if (of <= shown) return null;
  return (
    <p class="muted">
      And {(of - shown).toLocaleString('en')} more {what}:{' '}
      <code>tsigil tsigkey import FILE --dry-run</code> prints all.
    </p>
  );
}

const ARROW = ' → ';

/** Returns the zones with the same rights, in order. Each list of zones splits groups further. */
function groupsOf(changes: readonly RightChange[]): Head[] {
  const lists = changes.flatMap(({ before, limited, after }) => [before, limited, after]);
  const groupOf = new Map<string, number>();
  let groups = 1;
  for (const zones of lists) {
    const parts = new Map<number, number>();
    for (const zone of zones) {
      const whole = groupOf.get(zone) ?? 0;
      const part = parts.get(whole) ?? groups++;
      parts.set(whole, part);
      groupOf.set(zone, part);
    }
  }
  const heads = new Map<number, { readonly name: string; more: number }>();
  for (const [name, group] of groupOf) {
    const head = heads.get(group);
    if (head === undefined) heads.set(group, { name, more: 0 });
    else head.more += 1;
  }
  return [...heads.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Returns what a key with these changes may do in a zone, today and afterwards. */
function cellOf(changes: readonly RightChange[], zone: string): string {
  const named = (list: 'before' | 'limited' | 'after', how = '') =>
    changes.filter((change) => change[list].includes(zone)).map(({ right }) => how + right);
  const today = [...named('before'), ...named('limited', 'limited ')].join(', ');
  const then = named('after').join(', ');
  return today === then ? today : `${today || 'nothing'}${ARROW}${then || 'nothing'}`;
}
