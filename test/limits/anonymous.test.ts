import { describe, test } from 'vitest';
import { hasProgram } from '../harness/tools.ts';
import { ANONYMOUS } from './anonymous.ts';
import { expectBounded } from './verdict.ts';

describe('a client without a token cannot keep other callers from being served', () => {
  for (const scenario of ANONYMOUS) {
    const possible = scenario.needs === undefined || hasProgram(...scenario.needs);
    test.runIf(possible)(scenario.name, async ({ annotate }) => expectBounded(scenario, annotate));
  }
});
