import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { beforeAll, expect, test } from 'vitest';
import { startTestService } from '../harness/service.ts';
import { isMet } from '../harness/tools.ts';

/** Spectral has its own folder, because it would add 130 packages to every `npm ci`. */
const SPECTRAL = join(import.meta.dirname, '../../.ci/spectral');

/** The functions of Spectral that this test uses. */
interface Spectral {
  setRuleset(ruleset: object): void;
  run(text: string): Promise<{ code: string; message: string; path: (string | number)[] }[]>;
}

const hasSpectral = isMet(() => existsSync(join(SPECTRAL, 'node_modules')), {
  name: 'spectral',
  absence: 'The linter Spectral is not installed',
  command: 'npm ci --prefix .ci/spectral --ignore-scripts',
});

let source: string;
beforeAll(async () => {
  source = (await (await startTestService()).get('/openapi.json')).text;
});

test("/openapi.json meets all of Redocly's rules in recommended-strict", async () => {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  expect(
    problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
  ).toEqual([]);
});

test.runIf(hasSpectral)("/openapi.json meets all of Spectral's recommended rules", async () => {
  const require = createRequire(join(SPECTRAL, 'package.json'));
  const core = require('@stoplight/spectral-core') as { Spectral: new () => Spectral };
  const { oas } = require('@stoplight/spectral-rulesets') as { oas: object };
  const linter = new core.Spectral();
  linter.setRuleset({ extends: [[oas, 'recommended']] });
  const problems = await linter.run(source);
  expect(problems.map(({ code, message, path }) => [code, message, path.join('/')])).toEqual([]);
});
