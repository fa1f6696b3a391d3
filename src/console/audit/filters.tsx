import { SelectFilter, TextFilter } from '../parts/filters.tsx';
import { visible } from '../parts/text.tsx';
import { query, setQuery } from '../router.ts';
import { session } from '../session.ts';

/** How a filter of the page becomes a filter of the request. */
const SENT: Readonly<Record<string, (value: string) => Readonly<Record<string, string>>>> = {
  actor: (value) => ({ actor_name: value }),
  actor_id: (value) => ({ actor_id: value }),
  action: (value) => ({ action: value.includes('*') ? value : `${value}*` }),
  name: (value) => ({ resource_name: value }),
  resource_type: (value) => ({ resource_type: value }),
  resource_id: (value) => ({ resource_id: value }),
  outcome: (value) => ({ outcome: value }),
  request_id: (value) => ({ request_id: value }),
  after: (value) => ({ after: value }),
  before: (value) => ({ before: value }),
  time: (value) => {
    const hours = HOURS[value];
    return hours === undefined ? {} : { after: hoursAgo(hours) };
  },
};

const HOURS: Readonly<Record<string, number>> = { '1h': 1, '1d': 24, '7d': 168, '30d': 720 };
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Returns a time in the past, in whole minutes, so that the same list has the same address. */
function hoursAgo(hours: number): string {
  const minute = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  return new Date(minute - hours * HOUR_MS).toISOString().slice(0, 19);
}

/** Returns the parameters of the request for the filters in the address of the page. */
export function requestOf(parameters: URLSearchParams): URLSearchParams {
  const request = new URLSearchParams();
  for (const [name, value] of parameters)
    for (const [parameter, sent] of Object.entries(SENT[name]?.(value) ?? {}))
      request.set(parameter, sent);
  return request;
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

/** What a link from another page asked for, which has no control of its own. */
const LINKED: Readonly<Record<string, string>> = {
  actor_id: 'Caller',
  resource_id: 'Resource',
  request_id: 'Request',
  after: 'After',
  before: 'Before',
};

export function AuditFilters() {
  const types = Object.entries(session.value?.definitions ?? {}).map(
    ([collection, { label }]) => [collection, label] as const,
  );
  const linked = Object.entries(LINKED).flatMap(([name, label]) => {
    const value = query.value.get(name);
    return value === null ? [] : [[name, label, value] as const];
  });
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
      {linked.length === 0 ? null : (
        <div class="row">
          {linked.map(([name, label, value]) => (
            <span class="row small" key={name}>
              <span>
                {label} <bdi class="mono">{visible(value)}</bdi>
              </span>
              <button
                type="button"
                class="button text"
                onClick={() => setQuery({ [name]: '', record: '' })}
              >
                Remove<span class="hidden"> this filter</span>
              </button>
            </span>
          ))}
        </div>
      )}
    </>
  );
}
