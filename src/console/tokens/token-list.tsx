import { Collection, type Columns, type Filter } from '../parts/collection.tsx';
import { count, daysAgo } from '../parts/text.tsx';
import type { Token } from '../resources.ts';
import type { ScreenProps } from '../router.ts';
import { CreateToken } from './token-forms.tsx';
import { Expiry, TokenPage } from './token-page.tsx';

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

export function Tokens({ path: [id] }: ScreenProps) {
  if (id !== undefined) return <TokenPage key={id} id={id} />;
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
