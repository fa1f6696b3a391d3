import { useEffect } from 'preact/hooks';
import { Collection, type Filter } from '../parts/collection.tsx';
import { State } from '../parts/states.tsx';
import type { Column } from '../parts/table.tsx';
import { Ago, Name, Reference } from '../parts/text.tsx';
import type { NameServer } from '../resources.ts';
import { open, pageOf } from '../router.ts';
import { KeysLine } from './keys-line.tsx';
import { titleOf } from './titles.ts';

const FILTERS: readonly Filter[] = [
  {
    parameter: 'driver',
    label: 'Program',
    choices: [
      ['', 'Any'],
      ...['bind', 'knot', 'nsd', 'powerdns'].map((driver) => [driver, titleOf(driver)] as const),
    ],
  },
];

const COLUMNS: readonly Column<NameServer>[] = [
  {
    label: 'Name',
    width: 18,
    sort: 'name',
    cell: ({ id, name }) => (
      <a class="main-link cell" href={pageOf('nameservers', id)}>
        <Name text={name} />
      </a>
    ),
  },
  {
    label: 'State',
    width: 13,
    cell: ({ state }) => <State state={state} words={state} />,
  },
  {
    label: 'Keys',
    width: 33,
    cell: (server) => (
      <span class="cell">
        <KeysLine server={server} />
      </span>
    ),
  },
  {
    label: 'Pool',
    width: 14,
    cell: ({ pool_id: id }) => (
      <span class="cell">
        <Reference collection="pools" id={id} />
      </span>
    ),
  },
  { label: 'Program', width: 10, cell: ({ driver }) => titleOf(driver) },
  {
    label: 'Last applied',
    width: 12,
    sort: 'applied_at',
    cell: ({ applied_at: at }) => <Ago at={at} none="never" />,
  },
];

export function ServerList() {
  return (
    <Collection<NameServer>
      collection="nameservers"
      title="Name servers"
      columns={COLUMNS}
      filters={FILTERS}
      form={{ isPending: ({ state }) => state === 'pending' }}
      create="Add a name server"
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
