import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { FieldDefinition } from '../definitions.ts';
import { query, setQuery } from '../router.ts';
import { useRows, type ListForm, type Row } from '../rows.ts';
import { definitionOf, may } from '../session.ts';
import { ShownValue } from './fields.tsx';
import { SelectFilter, TextFilter } from './filters.tsx';
import { Denied } from './notices.tsx';
import { PageHead, useTitle } from './page.tsx';
import { List, type Column, type Words } from './table.tsx';
import { visible } from './text.tsx';

/** A choice above a list. Its value is a parameter in the address of the page. */
export interface Filter {
  readonly parameter: string;
  readonly label: string;
  readonly choices: readonly (readonly [value: string, text: string])[];
  /** The parameters of the request. Absent: the parameter itself. */
  send?(value: string): Readonly<Record<string, string>>;
}

interface CollectionProps<T extends Row> {
  /** The collection, whose definition gives further filters and columns. */
  readonly collection: string;
  readonly title: string;
  /** Absent: the words of the definition. */
  readonly words?: Words;
  readonly columns: readonly Column<T>[];
  /** The filters of this screen, in the place of those of its definition. */
  readonly filters?: readonly Filter[] | undefined;
  readonly form?: ListForm<T>;
  /** What the button for a new resource says. */
  readonly create: string;
  /** Further buttons. */
  readonly actions?: ComponentChildren;
  /** What the page says if there is nothing yet. The button for a new resource follows it. */
  readonly empty: ComponentChildren;
  /** Parameters that every request has. */
  readonly always?: Readonly<Record<string, string>> | undefined;
  /** What stands beside the number of rows. */
  children?(rows: readonly T[]): ComponentChildren;
  /** Draws the dialog for a new resource. */
  creation(close: () => void): ComponentChildren;
}

const SORT = 'name';
const NONE: readonly Filter[] = [];

/** The screen of a collection: its filters, its rows, and the dialog for a new one. */
export function Collection<T extends Row>(props: CollectionProps<T>) {
  const { collection, title, create, always = {}, children, filters: own = NONE } = props;
  useTitle(title);
  const parameters = query.value;
  const definition = definitionOf(collection);
  const { words = [definition?.singular ?? title, definition?.plural ?? title] } = props;
  const further = useMemo(() => furtherFields(collection, own), [definition, own]);
  const filters = [...own, ...further.map(filterOf)];
  const columns = [...props.columns, ...columnsOf<T>(further, props.columns)];
  const list = useRows<T>(collection, pathOf(collection, parameters, filters, always), props.form);
  const right = `${collection}:create`;
  const setCreating = (isOn: boolean) => setQuery({ new: isOn ? '1' : '' });
  const newButton = (hasShortcut: boolean) =>
    may(right) ? (
      <button
        type="button"
        class="button primary"
        data-shortcut={hasShortcut ? 'c' : undefined}
        onClick={() => setCreating(true)}
      >
        {create}
        {hasShortcut ? <kbd aria-hidden="true">C</kbd> : null}
      </button>
    ) : (
      <Denied right={right} what={`Creating a ${words[0]}`} />
    );
  const labels = new Map(filters.map(({ parameter, label }) => [parameter, label.toLowerCase()]));
  const active = ['q', ...labels.keys()].filter((name) => parameters.has(name));
  const empty =
    active.length === 0 ? (
      <>
        <h2>No {words[1]} yet</h2>
        {props.empty}
        <div class="row">{newButton(false)}</div>
      </>
    ) : (
      <>
        <h2>No {words[0]} matches</h2>
        <p class="muted">
          <bdi>
            {active
              .map(
                (name) => `${labels.get(name) ?? 'name'} “${visible(parameters.get(name) ?? '')}”`,
              )
              .join(', ')}
          </bdi>
        </p>
        <button
          type="button"
          class="button"
          onClick={() => setQuery(Object.fromEntries(active.map((name) => [name, ''])))}
        >
          Clear filters
        </button>
      </>
    );
  return (
    <>
      <PageHead title={title}>
        {props.actions}
        {newButton(true)}
      </PageHead>
      <div class="filters" role="search">
        <TextFilter
          name="q"
          label="Name"
          placeholder="Part of a name, or a pattern with *"
          isFirst
        />
        {filters.map(({ parameter, label, choices }) => (
          <SelectFilter key={parameter} label={label} name={parameter} choices={choices} />
        ))}
      </div>
      <List label={title} list={list} words={words} columns={columns} sort={SORT} empty={empty}>
        {children?.(list.rows)}
      </List>
      {parameters.has('new') && may(right) ? props.creation(() => setCreating(false)) : null}
    </>
  );
}

type Choices = readonly [field: FieldDefinition, values: readonly string[]];

/** Returns the fields with few values by which a list can be filtered beside its own filters. */
function furtherFields(collection: string, own: readonly Filter[]): readonly Choices[] {
  const { fields = [], filters = [] } = definitionOf(collection) ?? {};
  const isOwn = (name: string) => own.some(({ parameter }) => parameter === name);
  return fields
    .filter(({ name }) => filters.includes(name) && !isOwn(name))
    .map((field): Choices => {
      const { kind, choices = [] } = field;
      if (kind === 'boolean') return [field, ['true', 'false']];
      return [field, kind === 'enumeration' ? choices.map(({ value }) => String(value)) : []];
    })
    .filter(([, values]) => values.length > 0);
}

function filterOf([{ name, label }, values]: Choices): Filter {
  const choices = values.map((value) => [value, value] as const);
  return { parameter: name, label, choices: [['', 'Any'], ...choices] };
}

/** Returns columns for the fields that the columns of a screen do not show. */
function columnsOf<T>(fields: readonly Choices[], own: readonly Column<T>[]): Column<T>[] {
  return fields
    .filter(([{ name, label }]) => !own.some((each) => each.sort === name || each.label === label))
    .map(([field]) => ({
      label: field.label,
      width: 12,
      cell: (row) => <ShownValue field={field} value={row[field.name as keyof T]} />,
    }));
}

/** Returns the request for a list with the filters in the address of the page. */
function pathOf(
  collection: string,
  parameters: URLSearchParams,
  filters: readonly Filter[],
  always: Readonly<Record<string, string>>,
): string {
  const request = new URLSearchParams(always);
  // Names of zones end in a dot, which patterns do not have.
  const text = (parameters.get('q') ?? '').replace(/\.$/, '');
  if (text !== '') request.set('name', text.includes('*') ? text : `*${text}*`);
  for (const { parameter, choices, send } of filters) {
    const value = parameters.get(parameter) ?? '';
    if (value === '' || !choices.some(([choice]) => choice === value)) continue;
    const sent = send === undefined ? { [parameter]: value } : send(value);
    for (const [name, each] of Object.entries(sent)) request.set(name, each);
  }
  const sort = parameters.get('sort') ?? SORT;
  request.set('sort_key', sort.replace(/^-/, ''));
  request.set('sort_dir', sort.startsWith('-') ? 'desc' : 'asc');
  return `v2/${collection}?${request.toString()}`;
}
