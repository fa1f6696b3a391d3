import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { OPTIONS, valueAt } from '../../src/config/options.ts';

type Value = string | number | boolean;

/** The settings whose default changes with `compatibility: designate`, with both defaults. */
const DIFFERENT: readonly (readonly [key: string, usual: Value | undefined, designate: Value])[] = [
  ['auth.insufficientRightsStatus', undefined, 403],
  ['api.defaultLimit', 1000, 20],
  ['zones.tldRule', 'last-label', 'any-suffix'],
  ['zones.perProject', 0, 10],
  ['zones.pendingStatus', false, true],
];

const DESIGNATE = { TSIGIL_COMPATIBILITY: 'designate' };

test('compatibility: designate changes exactly the defaults of the listed settings', () => {
  const [usual, designate] = [readConfig(undefined, {}), readConfig(undefined, DESIGNATE)];
  const changed = OPTIONS.filter(({ key }) => key !== 'compatibility').flatMap(({ key }) => {
    const values = [valueAt(usual, key), valueAt(designate, key)];
    return JSON.stringify(values[0]) === JSON.stringify(values[1]) ? [] : [[key, ...values]];
  });
  expect(changed).toEqual(DIFFERENT);
});
