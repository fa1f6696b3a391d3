import { Collection, type Filter } from '../parts/collection.tsx';
import type { Column } from '../parts/table.tsx';
import { Ago, Name, timeOf, visible } from '../parts/text.tsx';
import type { Token } from '../resources.ts';
import { pageOf } from '../router.ts';
import { limitsInWords } from './limits.tsx';
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

const SOON_MS = 14 * DAY_MS;

/** When a token expires, as a warning if that is soon. */
export function Expiry({ at }: { at: string | null }) {
  if (at === null) return <span class="muted">never</span>;
  const left = timeOf(at) - Date.now();
  if (left <= 0)
    return (
      <span class="muted">
        – expired <Ago at={at} />
      </span>
    );
  return left > SOON_MS ? (
    <Ago at={at} />
  ) : (
    <span class="warn">
      ! <Ago at={at} />
    </span>
  );
}

const COLUMNS: readonly Column<Token>[] = [
  {
    label: 'Name',
    width: 26,
    sort: 'name',
    cell: ({ id, name }) => (
      <a class="main-link cell" href={pageOf('tokens', id)}>
        <Name text={name} />
      </a>
    ),
  },
  {
    label: 'Roles',
    width: 17,
    cell: ({ roles }) => <span class="cell">{visible(roles.join(', '))}</span>,
  },
  {
    label: 'Limits',
    width: 21,
    cell: (token) => <span class="cell muted">{limitsInWords(token) ?? 'none'}</span>,
  },
  {
    label: 'Last used',
    width: 12,
    cell: ({ last_used_at: at }) => <Ago at={at} none="never" />,
  },
  { label: 'Expires', width: 12, cell: ({ expires_at: at }) => <Expiry at={at} /> },
  {
    label: 'Project',
    width: 12,
    cell: ({ project_id: id }) => <span class="cell muted">{id === null ? '–' : visible(id)}</span>,
  },
];

export function TokenList() {
  return (
    <Collection<Token>
      collection="tokens"
      title="Tokens"
      words={['token', 'tokens']}
      columns={COLUMNS}
      filters={FILTERS}
      create="New token"
      actions={
        <a class="button" href={pageOf('tokens', 'access')}>
          Who can read secrets
        </a>
      }
      empty={
        <p class="muted">
          Give each person and program a token of its own, because the audit trail shows its name.
        </p>
      }
      creation={(close) => <CreateToken onClose={close} />}
    />
  );
}
