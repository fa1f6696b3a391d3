import { expect, test } from 'vitest';
import { readEvidence } from './harness/evidence.ts';

/** Kinds of output that the suites are sure to have made; without them the search would find nothing because there was nothing. */
const KINDS = ['log', 'error', 'metrics', 'output'];

/** The search compares every secret with everything that was shown, which takes minutes after the attacks. */
const TIMEOUT_MS = 900_000;

test('no secret and no token is in anything that a service showed during the run', { timeout: TIMEOUT_MS }, () => {
  const { shown, secrets } = readEvidence();
  const kinds = KINDS.filter((kind) => [...shown.keys()].some((name) => name.startsWith(`shown-${kind}-`)));
  expect(kinds).toEqual(KINDS);
  expect(secrets.length).toBeGreaterThan(50);
  const leaks = [...shown].flatMap(([name, text]) => secrets.filter((secret) => text.includes(secret)).map((secret) => `${name}: ${secret}`));
  expect(leaks).toEqual([]);
});
