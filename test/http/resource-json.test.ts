import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shownFields, shownMembers, type Resource } from '../../src/core/resource.ts';
import { RESOURCE_TYPES } from '../../src/resources/resources.ts';
import { createWriter } from '../../src/http/resource-json.ts';

/** Generates any text, including control characters, quotation marks, lone surrogates and emoji. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'binary-ascii' }),
  fc.string({
    unit: fc.constantFrom(
      '"',
      '\\',
      '\n',
      '\u0000',
      '\u001f',
      '\u007f',
      '\u2028',
      'é',
      '😀',
      '\ud83d',
      '\ude00',
      '/',
      'a',
    ),
  }),
);
const member = fc.oneof(
  text,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
  fc.array(text),
  fc.dictionary(text, text),
);
const timestamp = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 23));

const COLLECTION_URL = 'https://dns.example:8443/v2/things';

const types = RESOURCE_TYPES.map((type) => [type.collection, type] as const);

test.each(types)(
  'serialises any resource in %s to the same JSON as JSON.stringify',
  (_name, type) => {
    const names = shownMembers(type);
    const fields = Object.fromEntries(shownFields(type).map((name) => [name, member]));
    const row = fc.record({
      ...fields,
      id: fc.uuid(),
      created_at: timestamp,
      updated_at: fc.option(timestamp),
      hidden: text,
      further: member,
    });
    const shown = (each: Record<string, unknown>) => {
      const members = Object.fromEntries(names.map((name) => [name, each[name]]));
      return { ...members, links: { self: `${COLLECTION_URL}/${String(each.id)}` } };
    };
    const writer = createWriter(type);
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), (rows) => {
        const stored = rows as unknown as Resource[];
        expect(writer.writeList(stored, COLLECTION_URL)).toBe(JSON.stringify(rows.map(shown)));
        for (const [index, each] of stored.entries()) {
          const given: Record<string, unknown> = rows[index] ?? {};
          expect(writer.write(each, COLLECTION_URL)).toBe(JSON.stringify(shown(given)));
          expect(writer.writeWith(each, COLLECTION_URL, ['further'])).toBe(
            JSON.stringify({ ...shown(given), further: given.further }),
          );
        }
      }),
    );
  },
);
