import { useEffect } from 'preact/hooks';
import { titleOf, TITLES } from '../brands.ts';
import { Collection, type Columns, type Filter } from '../parts/collection.tsx';
import type { NameServer } from '../resources.ts';
import { open, pageOf, type ScreenProps } from '../router.ts';
import { KeysLine } from './keys-line.tsx';
import { NewServer } from './new-server.tsx';
import { ServerPage } from './server-page.tsx';
import { SetUp } from './set-up.tsx';

const FILTERS: readonly Filter[] = [
  { parameter: 'driver', label: 'Program', choices: [['', 'Any'], ...TITLES] },
];

const COLUMNS: Columns<NameServer> = [
  ['name', 18],
  ['state', 13],
  {
    label: 'Keys',
    width: 33,
    cell: (server) => (
      <span class="cell">
        <KeysLine server={server} />
      </span>
    ),
  },
  ['pool_id', 14],
  { label: 'Program', width: 10, cell: ({ driver }) => titleOf(driver) },
  ['applied_at', 12],
];

export function NameServers({ path: [id, part] }: ScreenProps) {
  if (id === 'new') return <NewServer />;
  if (id !== undefined)
    return part === 'setup' ? <SetUp key={id} id={id} /> : <ServerPage key={id} id={id} />;
  return (
    <Collection<NameServer>
      collection="nameservers"
      columns={COLUMNS}
      filters={FILTERS}
      form={{ isPending: ({ state }) => state === 'pending' }}
      empty={
        <p class="muted">
          Without one, keys are stored here and delivered nowhere. Tsigil puts each key of a pool on
          its name servers, and verifies it with signed queries.
        </p>
      }
      creation={() => <ToNewServer />}
    />
  );
}

/** A new name server has a page of its own, because much of it is to be done elsewhere. */
function ToNewServer() {
  useEffect(() => open(pageOf('nameservers', 'new'), { replace: true }), []);
  return null;
}
