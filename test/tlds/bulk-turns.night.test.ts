import { beforeEach, expect, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

const PATH = '/v2/tlds/bulk';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

/** Returns a request body of 1.8 MB with 20,000 entries. */
function listOf(prefix: string, options: object = {}): string {
  const tlds = Array.from({ length: 20_000 }, (_, index) => ({
    name: `${prefix}-${index}.example`,
    description: prefix.slice(0, 1).repeat(40),
  }));
  return JSON.stringify({ ...options, tlds });
}

test.each([
  ['a dry run', listOf('a', { dry_run: true })],
  ['new entries', listOf('a')],
  ['a replacement', listOf('a', { replace: true })],
])(
  '201 for writes of other callers while the service processes a list of 1.8 MB: %s',
  async (_what, body) => {
    const other = await clientFor(service, ['admin']);
    expect((await service.post(PATH, listOf('first'))).status).toBe(200);
    const state = { isUnderWay: true };
    const list = service.post(PATH, body).finally(() => (state.isUnderWay = false));
    let writes = 0;
    while (state.isUnderWay) {
      expect((await other.post('/v2/tlds', { name: `own-${writes}` })).status).toBe(201);
      writes += 1;
    }
    expect((await list).status).toBe(200);
    expect(writes).toBeGreaterThan(2);
  },
);
