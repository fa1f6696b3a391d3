import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from 'vitest';
import { ALGORITHMS } from '../../src/domain/dns/algorithms.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';

describe.runIf(hasProgram('tsig-keygen', 'bind9'))('keys from tsig-keygen', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  test.each(Object.keys(ALGORITHMS))(
    'the API stores and returns a %s key as tsig-keygen printed it',
    async (algorithm) => {
      const name = `xfr.${algorithm}.example.`;
      const printed = execFileSync('tsig-keygen', ['-a', algorithm, name], {
        encoding: 'utf8',
        env: { PATH: `${process.env.PATH}:/usr/sbin` },
      });
      const [, printedName, printedAlgorithm, secret] =
        /key "([^"]+)" \{\s+algorithm ([^;]+);\s+secret "([^"]+)";\s+\};/.exec(printed) ?? [];
      expect([printedName, printedAlgorithm]).toEqual([name, algorithm]);

      const created = await service.post('/v2/tsigkeys', {
        name,
        algorithm,
        secret,
        scope: 'POOL',
        resource_id: POOL,
      });
      expect(created.status).toBe(201);
      const { body } = await service.get(`/v2/tsigkeys/${created.body.id}`);
      expect(body).toEqual(created.body);
      expect([body.name, body.algorithm, body.secret]).toEqual([
        printedName,
        printedAlgorithm,
        secret,
      ]);
    },
  );
});
