import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readDocument } from '../harness/description.ts';
import { startTestService } from '../harness/service.ts';
import { isMet } from '../harness/tools.ts';

const PACKAGE = join(import.meta.dirname, '../../node_modules/@redocly/openapi-core');

/** The functions of the linter that this test uses. */
interface Linter {
  createConfig(raw: { extends: string[] }): Promise<unknown>;
  lintFromString(options: {
    source: string;
    absoluteRef: string;
    config: unknown;
  }): Promise<{ ruleId: string; message: string; location: { pointer?: string }[] }[]>;
}

const isInstalled = isMet(
  existsSync(PACKAGE),
  'redocly',
  '@redocly/openapi-core is not installed (npm ci)',
);

describe.runIf(isInstalled)('the linters of Redocly and Spectral', () => {
  test.each(['none', 'designate'])(
    "Redocly's recommended rules find no problem in /openapi.json with compatibility: %s",
    async (compatibility) => {
      const service = await startTestService({ TSIGIL_COMPATIBILITY: compatibility });
      try {
        const main: string = join(PACKAGE, 'lib/index.js');
        const linter = ((await import(main)) as { default: Linter }).default;
        const problems = await linter.lintFromString({
          source: JSON.stringify(await readDocument(service)),
          absoluteRef: 'openapi.json',
          config: await linter.createConfig({ extends: ['recommended'] }),
        });
        expect(
          problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
        ).toEqual([]);
      } finally {
        await service.close();
      }
    },
  );

  test("/openapi.json has a contact, as Spectral's rules require", async () => {
    const service = await startTestService();
    try {
      const { info } = await readDocument(service);
      expect(info.contact).toEqual({
        name: 'The operator of this service',
        url: `${service.url}/docs`,
      });
    } finally {
      await service.close();
    }
  });
});
