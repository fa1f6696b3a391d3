import type { JsonSchema } from '../../domain/model/field.ts';
import { markup, type Markup, type Part } from './markup.ts';

/** A column of a table: its heading, and the class that sets its width. */
type Column = readonly [heading: string, className: string];

/**
 * Returns a table whose rows begin with a header cell. The roles are explicit, because `display:
 * block` on narrow screens removes the implicit roles.
 */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Part[])[],
  className = '',
): Markup {
  const heads = columns.map(
    ([heading, className]) =>
      markup`<th role="columnheader" scope="col" class="${className}">${heading}</th>`,
  );
  const lines = rows.map(([first, ...others]) => {
    const cells = others.map(
      (cell, index) =>
        markup`<td role="cell" class="${columns[index + 1]?.[1] ?? ''}">${cell}</td>`,
    );
    return markup`<tr role="row"><th role="rowheader" scope="row">${first}</th>${cells}</tr>\n`;
  });
  return markup`<table role="table" class="${className}"><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${lines}</tbody></table>\n`;
}

type Marked = 'required' | 'optional';

/** Returns a table of the members of an object, including the members of nested objects. */
export function memberTable(caption: string, schema: JsonSchema, marked: Marked): Markup {
  const columns: Column[] = [
    ['Member', 'name'],
    ['Type', 'kind'],
    ['Meaning', 'meaning'],
  ];
  return table(caption, columns, memberRows(schema, '', marked));
}

function memberRows(schema: JsonSchema, prefix: string, marked: Marked): Part[][] {
  const { required = [], properties = {} } = schema;
  return Object.entries(properties).flatMap(([name, member]) => {
    const inner = member.items ?? member;
    const innerPrefix = `${prefix}${name}${member.type === 'array' ? '[]' : ''}.`;
    return [
      [
        memberName(
          prefix + name,
          required.includes(name) === (marked === 'required') ? marked : undefined,
        ),
        describeSchema(member),
        meaning(member.description, member.examples?.[0]),
      ],
      ...(inner.properties === undefined ? [] : memberRows(inner, innerPrefix, marked)),
    ];
  });
}

/** Returns the name of a member or parameter, with its mark if it has one. */
export function memberName(name: string, mark: Marked | undefined): Markup {
  return markup`<code>${name}</code>${mark === undefined ? undefined : markup` <span class="${mark}">${mark}</span>`}`;
}

/** Returns the description of a member or parameter, with its example if it has one. */
export function meaning(description: unknown, example: unknown): Part {
  const shown =
    example === undefined
      ? undefined
      : markup` <span class="note">Example: <code>${plain(example)}</code></span>`;
  return [inline(typeof description === 'string' ? description : ''), shown];
}

/** Returns text as markup. Text between backticks becomes code. */
export function inline(text: string): Part {
  return text
    .split('`')
    .map((piece, index) => (index % 2 === 1 ? markup`<code>${piece}</code>` : piece));
}

/**
 * Returns text as paragraphs. Empty lines in the text separate the paragraphs. Text between
 * backticks becomes code.
 */
export function prose(text: string): Part {
  return text.split('\n\n').map((paragraph) => markup`<p>${inline(paragraph)}</p>\n`);
}

/** Returns the values that a schema accepts, in words: `string, 1 to 255 characters`. */
export function describeSchema(schema: JsonSchema): Part {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return markup`<a href="#schema-${name}">${name}</a>`;
  }
  const alternatives = schema.oneOf?.map((one, index) => [
    index === 0 ? '' : ' or ',
    describeSchema(one),
  ]);
  const rules: Part[] = [
    alternatives,
    kind(schema),
    schema.const === undefined ? undefined : asCode(schema.const),
    schema.enum === undefined ? undefined : ['one of ', joined(schema.enum.map(asCode))],
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minItems, schema.maxItems, 'items'),
    schema.minimum === undefined ? undefined : `at least ${plain(schema.minimum)}`,
    schema.maximum === undefined ? undefined : `at most ${plain(schema.maximum)}`,
    schema.uniqueItems === true ? 'unique items' : undefined,
    schema.pattern === undefined ? undefined : ['matching ', asCode(schema.pattern)],
    schema.default === undefined ? undefined : ['default ', asCode(schema.default)],
  ];
  return joined(rules.filter((rule) => rule !== undefined));
}

function kind(schema: JsonSchema): Part {
  if (schema.type === undefined) return undefined;
  const types = [schema.type].flat();
  const named = types
    .map((type) =>
      type === 'string' && schema.format !== undefined ? `string (${schema.format})` : type,
    )
    .join(' or ');
  return schema.items === undefined ? named : [`${named} of `, describeSchema(schema.items)];
}

function range(min: unknown, max: unknown, unit: string): string | undefined {
  if (max === undefined) return undefined;
  return min === undefined || min === 0
    ? `at most ${plain(max)} ${unit}`
    : `${plain(min)} to ${plain(max)} ${unit}`;
}

function asCode(value: unknown): Markup {
  return markup`<code>${plain(value)}</code>`;
}

function joined(parts: readonly Part[]): Part {
  return parts.map((part, index) => (index === 0 ? part : [', ', part]));
}

/** Returns a value as display text: a string without quotes, any other value as JSON. */
function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
