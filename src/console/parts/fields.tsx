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

/** The fields of a resource that its page does not show in another way, as terms of its facts. */
export function FurtherFacts<T extends object>(props: {
  collection: string;
  resource: T;
  /** The fields that the page shows itself. */
  shown: readonly (keyof T)[];
}) {
  const values = props.resource as Readonly<Record<string, unknown>>;
  const fields = (definitionOf(props.collection)?.fields ?? []).filter(
    ({ name, secret }) =>
      secret !== true && name in values && !(props.shown as readonly string[]).includes(name),
  );
  return (
    <>
      {fields.flatMap((field) => [
        <dt key={field.name}>{field.label}</dt>,
        <dd key={`${field.name} value`}>
          <ShownValue field={field} value={values[field.name]} />
        </dd>,
      ])}
    </>
  );
}

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
