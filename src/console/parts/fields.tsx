import type { ComponentChildren } from 'preact';
import type { FieldDefinition } from '../definitions.ts';
import { definitionOf } from '../session.ts';
import { Ago, Copy, Reference, References, visible } from './text.tsx';

/** The value of a field, as its kind is shown. */
export function ShownValue({ field, value }: { field: FieldDefinition; value: unknown }) {
  if (value === null || value === undefined || value === '') return <span class="muted">–</span>;
  if (typeof value === 'boolean') return <span>{value ? 'yes' : 'no'}</span>;
  if (typeof value === 'number') return <span>{value.toLocaleString('en')}</span>;
  if (Array.isArray(value) && typeof field.refers_to === 'string')
    return <References collection={field.refers_to} ids={value.map(String)} />;
  if (typeof value !== 'string') return <code class="cell">{visible(textOf(value))}</code>;
  if (field.kind === 'timestamp') return <Ago at={value} />;
  if (field.kind === 'reference' && typeof field.refers_to === 'string')
    return <Reference collection={field.refers_to} id={value} />;
  return <bdi class="cell">{visible(value)}</bdi>;
}

/** Returns a list or a map as a line. */
function textOf(value: unknown): string {
  if (Array.isArray(value))
    return value.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, each]) => `${name} = ${typeof each === 'string' ? each : JSON.stringify(each)}`)
    .join(', ');
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === null || value === undefined || value === '';
}

interface FactsProps<T extends object> {
  readonly collection: string;
  readonly resource: T;
}

/** The fields with values that the page does not show in another way, as terms of facts. */
export function FurtherFacts<T extends object>(
  props: FactsProps<T> & {
    /** The fields that the page shows itself. */
    readonly shown: readonly (keyof T)[];
    /** What stands in the place of the values of some fields. */
    readonly special?: Readonly<Partial<Record<keyof T, ComponentChildren>>>;
  },
) {
  const { collection, shown, special = {} } = props;
  const values = props.resource as Readonly<Record<string, unknown>>;
  const drawn = special as Readonly<Record<string, ComponentChildren>>;
  return (definitionOf(collection)?.fields ?? [])
    .filter(({ name, secret }) => secret !== true && !shown.includes(name as keyof T))
    .filter(({ name }) => !isEmpty(values[name]))
    .flatMap((field) => [
      <dt key={field.name}>{field.label}</dt>,
      <dd key={`${field.name} value`}>
        {drawn[field.name] ?? <ShownValue field={field} value={values[field.name]} />}
      </dd>,
    ]);
}

/** What a resource is, in the order of its definition. */
export function Facts<T extends { readonly id: string; readonly created_at: string }>(
  props: FactsProps<T> & Pick<Parameters<typeof FurtherFacts<T>>[0], 'special'>,
) {
  const { collection, resource } = props;
  return (
    <section class="panel" aria-label={`The ${definitionOf(collection)?.singular ?? ''}`}>
      <dl class="facts">
        <FurtherFacts {...props} shown={WITHOUT} />
        <dt>Created</dt>
        <dd>
          <Ago at={resource.created_at} />
        </dd>
        <IdFact id={resource.id} />
      </dl>
    </section>
  );
}

const WITHOUT: readonly never[] = ['id', 'name', 'action', 'created_at', 'updated_at'] as never;

/** The id of a resource, as a term of its facts. */
export function IdFact({ id }: { id: string }) {
  return (
    <>
      <dt>Id</dt>
      <dd class="row">
        <code>{id}</code>
        <Copy text={() => id} what="the id" />
      </dd>
    </>
  );
}
