import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { uniqueOf, type ResourceType } from '../../src/domain/model/resource.ts';
import { tld } from '../../src/domain/resources/tld.ts';
import { tsigkey } from '../../src/domain/resources/tsigkey.ts';
import { zone } from '../../src/domain/resources/zone.ts';
import { POOL_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { primary } from '../harness/zones.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterEach(() => vi.restoreAllMocks());

const key = { algorithm: 'hmac-sha256', secret: 'c2VjcmV0', scope: 'POOL', resource_id: POOL_ID };

describe.each<[string, ResourceType, string, object]>([
  ['a zone', zone, 'Once.Example.', primary('Once.Example.')],
  ['a key', tsigkey, 'Once.Example.', { name: 'Once.Example.', ...key }],
  ['a TLD entry', tld, 'Once', { name: 'Once' }],
])('the name of %s', (_title, type, name, body) => {
  test('is converted to its comparison form only once per request', async () => {
    const conversions = vi.spyOn(uniqueOf<typeof type.fields>(type), 'comparisonForm');
    const converted = async (request: Promise<{ status: number }>, status: number) => {
      expect((await request).status).toBe(status);
      const given = conversions.mock.calls.filter(([text]) => text === name);
      conversions.mockClear();
      return given.length;
    };
    const path = `/v2/${type.collection}`;
    expect(await converted(service.post(path, body), 201)).toBe(1);
    const list = `${path}?name=${name}`;
    const { [type.collection]: found } = (await service.get(list)).body;
    expect(found).toMatchObject([{ name }]);
    conversions.mockClear();
    expect(await converted(service.get(list), 200)).toBe(1);
    const { id } = (found as { id: string }[])[0] ?? { id: '' };
    expect(await converted(service.patch(`${path}/${id}`, {}), 200)).toBe(1);
    expect(await converted(service.delete(`${path}/${id}`), type === zone ? 202 : 204)).toBe(1);
  });
});
