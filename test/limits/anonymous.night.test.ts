import { describe, test } from 'vitest';
import { hasProgram } from '../harness/tools.ts';
import { ANONYMOUS } from './anonymous.ts';
import { expectBounded } from './verdict.ts';

describe('an attack by a client without a token leaves other callers their answers, and stays within the bounds', () => {
  for (const scenario of ANONYMOUS) {
    const possible = scenario.needs === undefined || hasProgram(...scenario.needs);
    test.runIf(possible)(scenario.name, async ({ annotate }) => expectBounded(scenario, annotate));
  }
});
