import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tsigil } from '../cli/run.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import { delivering, startDeliveryServer } from '../harness/delivery.ts';
import { startTestService } from '../harness/service.ts';

describe.each(BRANDS.filter((brand) => brand.include !== undefined && brand.isInstalled()))(
  'what an adoption has left beside the files of $name',
  (brand) => {
    test('is a note, and no problem, on the host of the name server', async () => {
      const service = await startTestService();
      const server = await startDeliveryServer(brand);
      const kept = join(server.folder, `.${brand.main}.before-tsigil`);
      writeFileSync(kept, '');
      const variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
      const run = (...argv: string[]) =>
        tsigil(service.folder, { ...variables, ...delivering(server) }, 'status', ...argv);
      expect(await run()).toMatchObject({
        status: 0,
        out: expect.stringContaining(
          `\nformer files\tnote\tAdoptions have left, with secrets: '${kept}'. Delete them once all is well.\t\n`,
        ) as unknown,
      });
      const json = await run('-f', 'json', '-c', 'former_files');
      expect(JSON.parse(json.out)).toEqual({ former_files: [kept] });
      await server.remove();
    });
  },
);
