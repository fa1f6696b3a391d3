import { Button } from '../parts/button.tsx';
import { SelectFilter, TextFilter } from '../parts/inputs.tsx';
import { capitalised, daysAgo, visible } from '../parts/text.tsx';
import { query, setQuery } from '../router.ts';
import { session, wordOf } from '../session.ts';

const DAYS: Readonly<Record<string, number>> = { '1h': 1 / 24, '1d': 1, '7d': 7, '30d': 30 };

/** What a link from another page asks for, which has no control of its own. */
const LINKED = ['actor_id', 'resource_id', 'request_id'];

/** How a filter of the page becomes a filter of the request, if that is not the same. */
const SENT: Readonly<Record<string, (value: string) => Readonly<Record<string, string>>>> = {
  actor: (value) => ({ actor_name: value }),
  action: (value) => ({ action: value.includes('*') ? value : `${value}*` }),
  name: (value) => ({ resource_name: value }),
  time: (value) => ({ after: daysAgo(DAYS[value] ?? 0) }),
};

const SAME = [...LINKED, 'resource_type', 'outcome'];

/** Returns the parameters of the request for the filters in the address of the page. */
export function requestOf(parameters: URLSearchParams): string {
  const request = new URLSearchParams();
  for (const [name, value] of parameters) {
    const sent = SAME.includes(name) ? { [name]: value } : SENT[name]?.(value);
    for (const [parameter, each] of Object.entries(sent ?? {})) request.set(parameter, each);
  }
  return request.toString();
}

const OUTCOMES = [
  ['', 'Any'],
  ['success', 'Success'],
  ['denied', 'Denied'],
  ['failed', 'Failed'],
] as const;

const TIMES = [
  ['', 'Any'],
  ['1h', 'Last hour'],
  ['1d', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

export function AuditFilters() {
  const types = Object.keys(session.value?.definitions ?? {}).map(
    (collection) => [collection, capitalised(wordOf(collection))] as const,
  );
  const linked = LINKED.filter((name) => query.value.has(name));
  return (
    <>
      <div class="filters" role="search">
        <TextFilter name="actor" label="Who" placeholder="Name" isFirst />
        <TextFilter name="action" label="Action" placeholder="tsigkeys:update" />
        <TextFilter name="name" label="Resource" placeholder="Name" />
        <SelectFilter name="resource_type" label="Kind" choices={[['', 'Any'], ...types]} />
        <SelectFilter name="outcome" label="Outcome" choices={OUTCOMES} />
        <SelectFilter name="time" label="Time" choices={TIMES} />
      </div>
      {linked.map((name) => (
        <p class="row small" key={name}>
          Only {name} <bdi class="mono">{visible(query.value.get(name) ?? '')}</bdi>
          <Button look="text" onClick={() => setQuery({ [name]: '', record: '' })}>
            Remove<span class="hidden"> this filter</span>
          </Button>
        </p>
      ))}
    </>
  );
}
