import { expect, test } from 'vitest';
import { runInside } from '../cli/session.ts';
import { serve } from '../harness/connections.ts';
import { startTestService } from '../harness/service.ts';

test('encryption rotate names ten lost secrets, and counts the rest', async () => {
  const service = await startTestService();
  const { body } = await service.get('/v2/encryption');
  const lost = Array.from({ length: 100 }, (_, at) => `k${at}`);
  const url = await serve((_, response) => {
    response.end(JSON.stringify({ ...body, lost_count: 120, lost }));
  });
  const variables = { ...service.variables, TSIGIL_URL: url };
  const { out } = await runInside({ variables }, 'encryption', 'rotate');
  expect(out.match(/^Lost secret: k\d$/gm)).toHaveLength(10);
  expect(out).toMatch(/k9\nand 110 more lost secrets\n$/);
});
