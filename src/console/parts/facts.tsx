import type { ComponentChildren } from 'preact';
import type { FieldDefinition } from '../resources.ts';
import { definitionOf, targetOf, wordOf } from '../session.ts';
import { Algorithm, State } from './states.tsx';
import { Ago, Reference, References, visible } from './text.tsx';

/** Fields with a look of their own. */
const LOOKS: Readonly<Record<string, (value: string) => ComponentChildren>> = {
  state: (value) => <State state={value} />,
  status: (value) => <State state={value} />,
  algorithm: (value) => <Algorithm name={value} />,
};

/** The value of a field, as its kind is shown. */
export function ShownValue({ field, of }: { field: FieldDefinition; of: object }) {
  const { name, kind } = field;
  const value: unknown = of[name as keyof typeof of];
  const collection = targetOf(field, of);
  if (isEmpty(value)) return null;
  if (typeof value === 'boolean') return <span>{value ? 'yes' : 'no'}</span>;
  if (typeof value === 'number') return <span>{value}</span>;
  if (Array.isArray(value) && collection !== undefined)
    return <References collection={collection} ids={value.map(String)} />;
  if (typeof value !== 'string') return <span class="cell">{visible(textOf(value))}</span>;
  if (LOOKS[name] !== undefined) return <>{LOOKS[name](value)}</>;
  if (kind === 'timestamp') return <Ago at={value} />;
  if (kind === 'reference' && collection !== undefined)
    return <Reference collection={collection} id={value} />;
  return <bdi class="cell">{visible(value)}</bdi>;
}

/** Returns a list or a map as a line. */
function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  return Object.entries(value)
    .map(([name, each]) => `${name} = ${textOf(each)}`)
    .join(', ');
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === null || value === undefined || value === '';
}

export type Fact = readonly [term: string, fact: ComponentChildren];

/** Terms and what is known of each. A term of which nothing is known is left out. */
export function Terms({ rows }: { rows: readonly Fact[] }) {
  return (
    <dl class="facts">
      {rows.flatMap(([term, fact]) =>
        fact === undefined || fact === null
          ? []
          : [<dt key={term}>{term}</dt>, <dd key={`${term} fact`}>{fact}</dd>],
      )}
    </dl>
  );
}

interface FactsProps<T> {
  readonly collection: string;
  readonly resource: T;
  /** What the page says first. */
  readonly rows?: readonly Fact[];
  /** The fields that the page shows elsewhere. */
  readonly without?: readonly (keyof T & string)[];
}

/** What a resource is, in the order of its definition. */
export function Facts<T extends { readonly id: string; readonly created_at: string }>(
  props: FactsProps<T>,
) {
  const { collection, resource, rows = [], without = [] } = props;
  const { fields = [] } = definitionOf(collection) ?? {};
  const hidden: readonly string[] = [...without, 'name', 'action'];
  const values = resource as Readonly<Record<string, unknown>>;
  const further = fields
    .filter(({ name, secret }) => secret !== true && !hidden.includes(name))
    .filter(({ name }) => !isEmpty(values[name]))
    .map((field): Fact => [field.label, <ShownValue field={field} of={resource} />]);
  return (
    <section class="panel" aria-label={`The ${wordOf(collection)}`}>
      <Terms
        rows={[
          ...rows,
          ...further,
          ['Created', <Ago at={resource.created_at} />],
          ['Id', <code>{resource.id}</code>],
        ]}
      />
    </section>
  );
}
