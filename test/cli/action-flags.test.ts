import { describe, expect, test } from 'vitest';
import type { ActionBody } from '../../src/resources/operations/action.ts';
import { anyText, boolean, enumeration, integer } from '../../src/core/field.ts';
import { described, object, optional, withDefault } from '../../src/core/object.ts';
import { line } from '../../src/core/shared-fields.ts';
import { argumentsOfBody, optionsOfBody, readBody } from '../../src/cli/flags/action-flags.ts';

const BODY: ActionBody = {
  kind: object({
    new_name: described(line(5), 'The name after the rotation.'),
    force: withDefault(described(boolean(), 'Whether to skip `check`.'), false),
    days: optional(described(integer(1, 30), 'The age.')),
    mode: optional(described(enumeration(['soft', 'hard']), 'How to rotate.')),
    note: optional(described(anyText(), 'A note.')),
  }),
  schemaName: 'Rotation',
  what: 'rotation',
  examples: {},
};

describe('the command of an action', () => {
  test('has an argument for each required member of the body, and a flag for each other member', () => {
    const own = { note: { flag: '--because <text>', description: 'the reason' } };
    expect(argumentsOfBody(BODY, own)).toEqual([['<new-name>', 'the name after the rotation']]);
    const options = Object.values(optionsOfBody(BODY, own));
    expect(
      options.map(({ flags, description, argChoices }) => [flags, description, argChoices]),
    ).toEqual([
      ['--force', 'skip "check"', undefined],
      ['--days <number>', 'the age', undefined],
      ['--mode <word>', 'how to rotate', ['soft', 'hard']],
      ['--because <text>', 'the reason', undefined],
    ]);
  });

  test('sends the members that are given, and the defaults of the others', () => {
    expect(readBody(BODY, { new_name: 'k2' })).toEqual({ new_name: 'k2', force: false });
    expect(readBody(BODY, { new_name: 'k2', force: true, days: '3', mode: 'hard' })).toEqual({
      new_name: 'k2',
      force: true,
      days: 3,
      mode: 'hard',
    });
  });

  test('refuses invalid values before the request, with every problem: exit code 2', () => {
    let refusal: unknown;
    try {
      readBody(BODY, { new_name: 'too long', days: '31' });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({
      exitCode: 2,
      message:
        "Invalid rotation: 'new_name' must be 1 to 5 characters long; 'days' must be an integer from 1 to 30",
    });
  });
});
