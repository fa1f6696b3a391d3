import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { mapConcurrently } from '../../domain/scheduling/concurrency.ts';
import type { FieldDefinition, ResourceDefinition } from '../definitions.ts';
import { asRequestError, AT_ONCE, request } from '../requests.ts';
import { query, setQuery } from '../router.ts';
import { useRows, type Row, type Rows } from '../rows.ts';
import { definitionOf, may } from '../session.ts';
import { ShownValue } from './fields.tsx';
import { SelectFilter, TextFilter } from './filters.tsx';
import { CountLine } from './count-line.tsx';
import { isGone, type DeletionProps } from './delete-several.tsx';
import { Denied, Failure } from './notices.tsx';
import { PageHead, useTitle } from './page.tsx';
import { SelectionBar, useChosen, type Chosen } from './selection.tsx';
import { Table, type Column } from './table.tsx';
import { visible } from './text.tsx';
import { showToast } from './toasts.tsx';

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
  /** One and several resources, if the words of the definition are longer than the page needs. */
  readonly words?: readonly [one: string, many: string];
  readonly columns: readonly Column<T>[];
  /** The filters of this screen, in the place of those of its definition. */
  readonly filters?: readonly Filter[];
  /** How the list is sorted unless the person chose otherwise. A minus stands for descending. */
  readonly sort?: string;
  /** What the button for a new resource says. */
  readonly create: string;
  /** Further buttons. */
  readonly actions?: ComponentChildren;
  /** What the page says if there is nothing yet. The button for a new resource follows it. */
  readonly empty: ComponentChildren;
  /** Counts the changes by this screen. The list is read again after each. */
  readonly changes?: number;
  /** Parameters that every request has. */
  readonly always?: Readonly<Record<string, string>>;
  readonly children?: ComponentChildren;
  /** Draws the dialog for a new resource. */
  creation(close: () => void): ComponentChildren;
  /** Draws the dialogs that delete what the person chose. Absent: no row can be chosen. */
  readonly deletion?: {
    one(row: T, props: { onClose(): void; onDeleted(): void }): ComponentChildren;
    several(rows: readonly T[], props: DeletionProps): ComponentChildren;
  };
  onShown?(rows: readonly T[]): void;
}

/** The screen of a collection: its filters, its rows, and the dialog for a new one. */
export function Collection<T extends Row>(props: CollectionProps<T>) {
  const { collection, title, columns, sort = 'name', create, always = {}, onShown } = props;
  useTitle(title);
  const definition = definitionOf(collection);
  const parameters = query.value;
  const filters = useMemo(() => allFilters(definition, props.filters ?? []), [definition]);
  const shown = useColumns<T>(definition, columns, parameters.get('columns') ?? '');
  const path = pathOf(collection, parameters, filters, sort, always);
  const list = useRows<T>(collection, path);
  const { rows, hasMore, isLoaded, error, more, reload } = list;
  const { changes = 0 } = props;
  useEffect(() => {
    if (changes > 0) reload();
  }, [changes]);
  const selection = useDeletion(props, path.split(/[?&]sort_key=/)[0] ?? '', list);
  const right = `${collection}:create`;
  const isCreating = parameters.get('new') !== null && may(right);
  const setCreating = (isOn: boolean) => setQuery({ new: isOn ? '1' : '' });
  const { words = [definition?.singular ?? title, definition?.plural ?? title] } = props;
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
  const active = ['q', ...filters.map(({ parameter }) => parameter)].filter((name) =>
    parameters.has(name),
  );
  return (
    <>
      <PageHead title={title}>
        {props.actions}
        {newButton(true)}
      </PageHead>
      {props.children}
      <div class="filters" role="search">
        <TextFilter
          name="q"
          label="Name"
          placeholder="Part of a name, or a pattern with *"
          isFirst
          isWide
        />
        {filters.map(({ parameter, label, choices }) => (
          <SelectFilter key={parameter} label={label} name={parameter} choices={choices} />
        ))}
      </div>
      <div class={selection.chosen.value.size > 0 ? 'list-line choosing' : 'list-line'}>
        <CountLine list={list} words={words}>
          {definition === undefined ? null : (
            <ColumnChoice definition={definition} columns={columns} />
          )}
        </CountLine>
        {selection.isOffered ? (
          <SelectionBar chosen={selection.chosen} onDelete={selection.ask} />
        ) : null}
      </div>
      {error !== undefined && !isLoaded ? (
        <Failure error={error} what={`the ${words[1]}`} retry={reload} />
      ) : isLoaded && rows.length === 0 ? (
        <div class="table empty">
          {active.length === 0 ? (
            <>
              <h2>No {words[1]} yet</h2>
              {props.empty}
              <div class="row">{newButton(false)}</div>
            </>
          ) : (
            <NoMatch active={active} filters={filters} one={words[0]} />
          )}
        </div>
      ) : (
        <Table
          label={title}
          columns={shown}
          rows={rows}
          isLoaded={isLoaded}
          hasMore={hasMore}
          sort={parameters.get('sort') ?? sort}
          more={more}
          onSort={(chosen) => setQuery({ sort: chosen === sort ? '' : chosen })}
          {...(onShown === undefined ? {} : { onShown })}
          {...(selection.isOffered ? { chosen: selection.chosen } : {})}
        />
      )}
      {isCreating ? props.creation(() => setCreating(false)) : null}
      {selection.dialog}
    </>
  );
}

/** The rows that a dialog asks about, as they were read for it. */
interface Asked<T> {
  readonly rows: readonly T[];
  readonly tags: ReadonlyMap<string, string>;
}

function undefinedIfGone(failure: unknown): undefined {
  if (!isGone(asRequestError(failure))) throw failure;
}

/** The rows that the person chose, and the dialog that deletes them. */
function useDeletion<T extends Row>(
  { collection, deletion }: Pick<CollectionProps<T>, 'collection' | 'deletion'>,
  filters: string,
  { reload }: Rows<T>,
) {
  const chosen: Chosen = useChosen(collection, filters);
  const [asked, setAsked] = useState<Asked<T>>();
  useEffect(() => {
    if (asked === undefined) return;
    return () => {
      // The button that opened the dialog may be gone.
      if (document.activeElement === document.body)
        document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
    };
  }, [asked]);
  /** Reads the rows anew, because those of the list can have other names by now. */
  const ask = async () => {
    const ids = [...chosen.peek().keys()];
    try {
      const read = await mapConcurrently(ids, AT_ONCE, (id) =>
        request<T>(`v2/${collection}/${id}`).catch(undefinedIfGone),
      );
      const found = read.filter((each) => each !== undefined);
      const tags = new Map(found.map(({ body, headers }) => [body.id, headers.get('ETag') ?? '']));
      const gone = ids.filter((id) => !tags.has(id));
      if (gone.length > 0) onDeleted(gone);
      if (found.length > 0) setAsked({ rows: found.map(({ body }) => body), tags });
    } catch (failure) {
      showToast(asRequestError(failure).message);
    }
  };
  const onDeleted = (ids: readonly string[]) => {
    chosen.value = new Map([...chosen.peek()].filter(([id]) => !ids.includes(id)));
    reload();
  };
  const onClose = () => setAsked(undefined);
  const draw = ({ rows, tags }: Asked<T>) => {
    const [first, second] = rows;
    if (first === undefined || second !== undefined)
      return deletion?.several(rows, { tags, onClose, onDeleted });
    const end = () => {
      onDeleted([first.id]);
      onClose();
    };
    return deletion?.one(first, { onClose, onDeleted: end });
  };
  return {
    chosen,
    isOffered: deletion !== undefined && may(`${collection}:delete`),
    ask: () => void ask(),
    dialog: asked === undefined ? null : draw(asked),
  };
}

/** Returns the filters of a screen, and those that its definition offers beside them. */
function allFilters(
  definition: ResourceDefinition | undefined,
  own: readonly Filter[],
): readonly Filter[] {
  const known = own.map(({ parameter }) => parameter);
  const further = (definition?.fields ?? []).flatMap((field): Filter[] => {
    const { name, label, kind } = field;
    if (known.includes(name) || definition?.filters.includes(name) !== true) return [];
    const values =
      kind === 'boolean'
        ? (['true', 'false'] as const)
        : kind === 'enumeration'
          ? (field.choices ?? []).map(({ value }) => String(value))
          : [];
    if (values.length === 0) return [];
    const choices = values.map((value) => [value, value] as const);
    return [{ parameter: name, label, choices: [['', 'Any'], ...choices] }];
  });
  return [...own, ...further];
}

/** Returns the request for a list with the filters in the address of the page. */
function pathOf(
  collection: string,
  parameters: URLSearchParams,
  filters: readonly Filter[],
  usual: string,
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
  const sort = parameters.get('sort') ?? usual;
  request.set('sort_key', sort.replace(/^-/, ''));
  request.set('sort_dir', sort.startsWith('-') ? 'desc' : 'asc');
  return `v2/${collection}?${request.toString()}`;
}

/** The fields that a list can show beside its own columns. */
function furtherFields(
  definition: ResourceDefinition,
  columns: readonly Pick<Column<never>, 'label' | 'sort'>[],
): FieldDefinition[] {
  return definition.fields.filter(
    ({ name, label, secret }) =>
      secret !== true && !columns.some((column) => column.sort === name || column.label === label),
  );
}

function useColumns<T extends Row>(
  definition: ResourceDefinition | undefined,
  columns: readonly Column<T>[],
  chosen: string,
): readonly Column<T>[] {
  return useMemo(() => {
    if (definition === undefined || chosen === '') return columns;
    const names = chosen.split(',');
    const further = furtherFields(definition, columns)
      .filter(({ name }) => names.includes(name))
      .map((field) => ({
        label: field.label,
        width: 18,
        cell: (row: T) => (
          <ShownValue
            field={field}
            value={(row as Readonly<Record<string, unknown>>)[field.name]}
          />
        ),
      }));
    return [...columns, ...further];
  }, [definition, columns, chosen]);
}

function ColumnChoice<T>(props: { definition: ResourceDefinition; columns: readonly Column<T>[] }) {
  const fields = furtherFields(props.definition, props.columns);
  if (fields.length === 0) return null;
  const chosen = (query.value.get('columns') ?? '').split(',').filter((name) => name !== '');
  return (
    <details class="menu">
      <summary class="button text">Columns</summary>
      <fieldset class="menu-panel options">
        <legend class="hidden">Further columns</legend>
        {fields.map(({ name, label }) => (
          <label class="option" key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={({ currentTarget: { checked } }) =>
                setQuery({
                  columns: (checked
                    ? [...chosen, name]
                    : chosen.filter((each) => each !== name)
                  ).join(','),
                })
              }
            />
            {label}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

function NoMatch(props: { active: readonly string[]; filters: readonly Filter[]; one: string }) {
  const { active, filters, one } = props;
  const labelOf = (name: string) =>
    filters.find(({ parameter }) => parameter === name)?.label.toLowerCase() ?? 'name';
  return (
    <>
      <h2>No {one} matches</h2>
      <p class="muted">
        <bdi>
          {active
            .map((name) => `${labelOf(name)} “${visible(query.value.get(name) ?? '')}”`)
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
}
