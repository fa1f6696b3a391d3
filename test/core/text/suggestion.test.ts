import { expect, test } from 'vitest';
import { suggestion } from '../../../src/core/text/suggestion.ts';

const NAMES = ['listen', 'log.level', 'api.defaultLimit', 'address', 'probeZone', 'apiKeyFile'];

test.each([
  ['lsiten', 'listen'],
  ['listn', 'listen'],
  ['listeen', 'listen'],
  ['Listen', 'listen'],
  ['log.levl', 'log.level'],
  ['level', 'log.level'],
  ['defaultLimit', 'api.defaultLimit'],
  ['api.defaultLimits', 'api.defaultLimit'],
  ['adress', 'address'],
  ['probe_zone', 'probeZone'],
  ['probe-zone', 'probeZone'],
  ['apiKey', 'apiKeyFile'],
  ['addresses', 'address'],
])('%s suggests %s', (word, meant) => {
  expect(suggestion(word, NAMES)).toBe(`. Did you mean '${meant}'?`);
});

test.each(['', 'a', 'ap', 'nosuch', 'log.file', 'zone', 'x'.repeat(1000), 'api', '__proto__'])(
  '%j suggests only what it begins',
  (word) => {
    expect(suggestion(word, NAMES)).toBe(word === 'api' ? ". Did you mean 'apiKeyFile'?" : '');
  },
);

test('the candidate with the fewest mistakes is suggested, and the first of several', () => {
  expect(suggestion('files', ['file', 'filesystem', 'flies'])).toContain("'file'");
  expect(suggestion('cat', ['bat', 'hat'])).toContain("'bat'");
});
