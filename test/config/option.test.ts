import { expect, test } from 'vitest';
import { boolean, enumeration, integer, list, text } from '../../src/domain/model/field.ts';
import { object } from '../../src/domain/model/object.ts';
import {
  fileVariableOf,
  listOptions,
  option,
  valuesOf,
  variableOf,
} from '../../src/config/option.ts';

const TABLE = {
  strict: option(boolean(), { default: false, meaning: 'A switch.' }),
  servers: {
    list: option(
      list(object({ host: text({ min: 1, max: 255 }), port: integer(1, 65_535) }), 0, 10),
      { default: [], meaning: 'A list of objects.' },
    ),
    rule: option(enumeration(['first', 'all']), {
      meaning: 'A setting without a default.',
      secret: true,
    }),
  },
};

test('the type of the configuration follows from the option table', () => {
  const values = valuesOf(TABLE, (each) => each.default);
  const typed: {
    readonly strict: boolean;
    readonly servers: {
      readonly list: readonly { readonly host: string; readonly port: number }[];
      readonly rule: 'first' | 'all' | undefined;
    };
  } = values;
  expect(typed).toEqual({ strict: false, servers: { list: [], rule: undefined } });
  // @ts-expect-error The type has no member for an unknown setting.
  expect(values.nosuch).toBeUndefined();
});

test('keys and variables follow from the names in the option table', () => {
  const options = listOptions(TABLE);
  expect(options.map(({ key }) => key)).toEqual(['strict', 'servers.list', 'servers.rule']);
  expect(options.map(variableOf)).toEqual([
    'TSIGIL_STRICT',
    'TSIGIL_SERVERS_LIST',
    'TSIGIL_SERVERS_RULE',
  ]);
  expect(options.map(fileVariableOf)).toEqual([undefined, undefined, 'TSIGIL_SERVERS_RULE_FILE']);
});

test('a default has the type of its setting', () => {
  // @ts-expect-error A default must have the type of the setting.
  expect(option(integer(1, 9), { default: 'one', meaning: '' }).default).toBe('one');
});
