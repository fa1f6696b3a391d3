import { expect, test } from 'vitest';
import { readEvidence } from './harness/evidence.ts';
import { secretSearch } from './harness/secret-search.ts';

/**
 * The kinds of output that the suites must have recorded. Without output, the search would find
 * nothing.
 */
const KINDS = ['log', 'error', 'metrics', 'output'];

test('no output of any service in this run contains a secret or token', () => {
  const { shown, secrets } = readEvidence();
  const kinds = KINDS.filter((kind) =>
    [...shown.keys()].some((name) => name.startsWith(`shown-${kind}-`)),
  );
  expect(kinds).toEqual(KINDS);
  expect(secrets.length).toBeGreaterThan(50);
  const find = secretSearch(secrets);
  const leaks = [...shown].flatMap(([name, text]) =>
    find(text).map((secret) => `${name}: ${secret}`),
  );
  expect(leaks).toEqual([]);
});
