import { Collection, type Columns, type Filter } from '../parts/collection.tsx';
import { Ago, count, timeOf } from '../parts/text.tsx';
import type { Token } from '../resources.ts';
import { CreateToken } from './token-forms.tsx';

const DAY_MS = 86_400_000;

/** Returns the beginning of the day some days ago, so that the same list has the same address. */
function daysAgo(days: number): string {
  const day = Math.floor(Date.now() / DAY_MS) - days;
  return new Date(day * DAY_MS).toISOString().slice(0, 19);
}

const FILTERS: readonly Filter[] = [
  {
    parameter: 'unused',
    label: 'Use',
    choices: [
      ['', 'Any'],
      ['30', 'Unused for 30 days'],
      ['90', 'Unused for 90 days'],
      ['365', 'Unused for a year'],
    ],
    send: (days) => ({ unused_since: daysAgo(Number(days)) }),
  },
];

/** When a token expires, as a warning if that is soon. */
export function Expiry({ at }: { at: string | null }) {
  const isSoon = at !== null && timeOf(at) - Date.now() < 14 * DAY_MS;
  return (
    <span class={isSoon ? 'warn' : undefined}>
      {isSoon ? '! ' : ''}
      <Ago at={at} none="never" />
    </span>
  );
}

const LIMITS = [
  ['pools', 'pool'],
  ['zones', 'zone'],
  ['keys', 'key'],
  ['nameservers', 'name server'],
  ['addresses', 'network'],
] as const;

/** Returns the limits of a token in a few words. */
function limitsOf(token: Token): string {
  const parts = LIMITS.flatMap(([name, word]) => {
    const { length } = token[name] ?? [];
    return length === 0 ? [] : [count(length, word)];
  });
  return parts.length === 0 ? 'none' : `Only ${parts.join(', ')}`;
}

const COLUMNS: Columns<Token> = [
  ['name', 26],
  ['roles', 17],
  { label: 'Limits', width: 21, cell: (token) => <span class="cell">{limitsOf(token)}</span> },
  ['last_used_at', 12],
  { label: 'Expires', width: 12, cell: ({ expires_at: at }) => <Expiry at={at} /> },
  ['project_id', 12],
];

export function TokenList() {
  return (
    <Collection<Token>
      collection="tokens"
      columns={COLUMNS}
      filters={FILTERS}
      empty={
        <p class="muted">
          Give each person and program a token of its own, because the audit trail shows its name.
        </p>
      }
      creation={(close) => <CreateToken onClose={close} />}
    />
  );
}
