import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { FieldDefinition, ResourceDefinition } from '../resources.ts';
import { pageOf, query, setQuery } from '../router.ts';
import { useRows, type ListForm, type Row } from '../rows.ts';
import { definitionOf, may, wordOf } from '../session.ts';
import { Button } from './button.tsx';
import { ShownValue } from './facts.tsx';
import { SelectFilter, TextFilter, type Option } from './inputs.tsx';
import { Denied } from './notices.tsx';
import { PageHead } from './page.tsx';
import { List, type Column } from './table.tsx';
import { listOf, Name, PAGES, patternOf, visible } from './text.tsx';

/** A choice above a list. Its value is a parameter in the address of the page. */
export interface Filter {
  readonly parameter: string;
  readonly label: string;
  readonly choices: readonly Option[];
  /** The parameters of the request. Absent: the parameter itself. */
  send?(value: string): Readonly<Record<string, string>>;
}

/** A column, or the name of the field that it shows, with its width in percent. */
export type Columns<T> = readonly (Column<T> | readonly [field: string, width: number])[];

interface CollectionProps<T extends Row> {
  /** The collection, whose definition gives the words, and further filters and columns. */
  readonly collection: string;
  readonly columns: Columns<T>;
  /** The filters of this screen, in the place of those of its definition. */
  readonly filters?: readonly Filter[] | undefined;
  readonly form?: ListForm<T>;
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

/** The screen of a collection: its filters, its rows, and the dialog for a new one. */
export function Collection<T extends Row>(props: CollectionProps<T>) {
  const { collection, always = {}, children, creation } = props;
  const parameters = query.value;
  const definition = definitionOf(collection);
  const singular = wordOf(collection);
  const title = listOf(collection);
  const [filters, columns] = useMemo(
    () => derive(collection, definition, props),
    [definition, props.filters, props.columns],
  );
  // A filter by time keeps its first answer, or the list would begin again each minute.
  const path = useMemo(
    () => pathOf(collection, parameters, filters, always),
    [parameters, filters],
  );
  const list = useRows<T>(collection, path, props.form);
  const right = `${collection}:create`;
  const setCreating = (isOn: boolean) => setQuery({ new: isOn ? '1' : '' });
  const newButton = (hasShortcut: boolean) =>
    may(right) ? (
      <Button
        look="primary"
        data-shortcut={hasShortcut ? 'c' : undefined}
        onClick={() => setCreating(true)}
      >
        New {singular}
      </Button>
    ) : (
      <Denied right={right} what={`Creating a ${singular}`} />
    );
  const labels = new Map([
    ['q', 'name'],
    ...filters.map((each) => [each.parameter, each.label.toLowerCase()] as const),
  ]);
  const active = [...labels.keys()].filter((name) => parameters.has(name));
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
        {filters.map(({ parameter, ...filter }) => (
          <SelectFilter key={parameter} name={parameter} {...filter} />
        ))}
      </div>
      <List
        label={title}
        list={list}
        word={singular}
        columns={columns}
        sort="name"
        empty={
          active.length === 0 ? (
            <>
              <h2>No {singular}s yet</h2>
              {props.empty}
              <div class="row">{newButton(false)}</div>
            </>
          ) : (
            <NoMatch singular={singular} labels={labels} active={active} />
          )
        }
      >
        {children?.(list.rows)}
      </List>
      {parameters.has('new') && may(right) ? creation(() => setCreating(false)) : null}
    </>
  );
}

interface NoMatchProps {
  readonly singular: string;
  /** What filters are called, by their parameters, if that differs. */
  readonly labels?: ReadonlyMap<string, string>;
  readonly active: readonly string[];
}

/** What stands in the place of the rows that no filter lets pass, with the way back. */
export function NoMatch(props: NoMatchProps) {
  const { singular, active } = props;
  const { value: parameters } = query;
  return (
    <>
      <h2>No {singular} matches</h2>
      <p class="muted">
        <bdi>
          {active
            .map(
              (name) =>
                `${props.labels?.get(name) ?? name} “${visible(parameters.get(name) ?? '')}”`,
            )
            .join(', ')}
        </bdi>
      </p>
      <Button onClick={() => setQuery(Object.fromEntries(active.map((name) => [name, ''])))}>
        Clear filters
      </Button>
    </>
  );
}

/** Returns the filters and columns of a screen, with those of its definition that it lacks. */
function derive<T extends Row>(
  collection: string,
  definition: ResourceDefinition | undefined,
  { filters = [], columns }: Pick<CollectionProps<T>, 'filters' | 'columns'>,
): readonly [readonly Filter[], readonly Column<T>[]] {
  const { fields = [], filters: names = [] } = definition ?? {};
  const further = fields.filter(
    ({ name }) => names.includes(name) && filters.every(({ parameter }) => parameter !== name),
  );
  const derived = further.flatMap((field): Filter[] => {
    const { name, label, kind, choices = [] } = field;
    const values =
      kind === 'boolean' ? ['true', 'false'] : choices.map(({ value }) => String(value));
    if (values.length === 0) return [];
    const options = values.map((value) => [value, value] as const);
    return [{ parameter: name, label, choices: [['', 'Any'], ...options] }];
  });
  const own = columns.map((column) =>
    'cell' in column ? column : columnOf<T>(collection, definition, ...column),
  );
  const isShown = (label: string) => own.some((column) => column.label === label);
  const added = derived
    .filter(({ label }) => !isShown(label))
    .map(({ parameter }) => columnOf<T>(collection, definition, parameter, 12));
  return [
    [...filters, ...derived],
    [...own, ...added],
  ];
}

const CREATED: Pick<FieldDefinition, 'label' | 'kind'> = { label: 'Created', kind: 'timestamp' };

/** Returns the column of a field. The name is a link to the page of the resource, if it has one. */
function columnOf<T extends Row>(
  collection: string,
  definition: ResourceDefinition | undefined,
  name: string,
  width: number,
): Column<T> {
  const found = definition?.fields.find((each) => each.name === name);
  const field = found ?? (Object.assign({ name }, CREATED) as FieldDefinition);
  const page = PAGES[collection];
  return {
    label: field.label,
    width,
    ...(definition?.sort_keys.includes(name) === true ? { sort: name } : {}),
    cell: (row) =>
      name === definition?.unique && page !== undefined ? (
        <a class="main-link cell" href={pageOf(page, row.id)}>
          <Name text={String(row[name as keyof T])} />
        </a>
      ) : (
        <ShownValue field={field} of={row} />
      ),
  };
}

/** Returns the request for a list with the filters in the address of the page. */
function pathOf(
  collection: string,
  parameters: URLSearchParams,
  filters: readonly Filter[],
  always: Readonly<Record<string, string>>,
): string {
  const request = new URLSearchParams(always);
  const text = parameters.get('q') ?? '';
  if (text !== '') request.set('name', patternOf(text));
  for (const { parameter, choices, send } of filters) {
    const value = parameters.get(parameter) ?? '';
    if (value === '' || !choices.some(([choice]) => choice === value)) continue;
    const sent = send === undefined ? { [parameter]: value } : send(value);
    for (const [name, each] of Object.entries(sent)) request.set(name, each);
  }
  const sort = parameters.get('sort') ?? 'name';
  request.set('sort_key', sort.replace(/^-/, ''));
  request.set('sort_dir', sort.startsWith('-') ? 'desc' : 'asc');
  return `v2/${collection}?${request.toString()}`;
}
