import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ShownLifecycle } from '../../src/rotation/lifecycle-response.ts';
import { createKey, type CreatedKey } from '../harness/delivery.ts';
import {
  runTsigil,
  startServiceProcess,
  temporaryFolder,
  type ServiceProcess,
} from '../harness/service.ts';

const TOKEN = 'rotation-data-0123456789-0123456789abcdef';

let folder: string;
let service: ServiceProcess;

async function start(database = 'sqlite:var/tsigil.db'): Promise<void> {
  const variables = { TSIGIL_ADMIN_TOKEN: TOKEN, TSIGIL_DATABASE_URL: database };
  service = await startServiceProcess(folder, variables);
}
beforeEach(async () => {
  folder = temporaryFolder();
  await start();
});
afterEach(() => service.stop('SIGTERM'));

async function take(id: string, action: string, body?: object): Promise<CreatedKey> {
  const force = action === 'retire' ? { 'tsigil-force': 'true' } : {};
  const response = await service.post(`/v2/tsigkeys/${id}/${action}`, body, force);
  expect(response.status, response.text).toBeLessThan(300);
  return response.body as CreatedKey;
}

const lifecycleOf = async (id: string) =>
  (await service.get(`/v2/tsigkeys/${id}/lifecycle`)).body as ShownLifecycle;
/** Returns a key without its links, which have the port of the process. */
const keyOf = async (id: string) => ({
  ...(await service.get(`/v2/tsigkeys/${id}`)).body,
  links: undefined,
});

function run(...argv: string[]): string {
  const { status, stdout, stderr } = runTsigil(folder, {}, ...argv);
  expect(status, stderr).toBe(0);
  return stdout;
}

/** Creates a key with a successor, and retires it. */
async function retiredKey(name = 'former') {
  const grants = [{ rights: ['transfer'], zones: 'all' }];
  const key = await createKey(service, name, { grants });
  const shown = await keyOf(key.id);
  const next = await take(key.id, 'rotate', {});
  await take(key.id, 'retire');
  return { id: key.id, shown, next: next.id };
}

describe('a retired key', () => {
  test('is encrypted again with each new data key, and restored with its secret', async () => {
    const { id, shown } = await retiredKey();
    expect((await service.post('/v2/encryption/rotate', undefined)).status).toBe(200);
    await vi.waitFor(
      async () => {
        const { body } = await service.get('/v2/encryption');
        const keys = body.data_keys as { number: number; secrets: number }[];
        expect(keys.map(({ secrets }) => secrets)).toEqual([2]);
      },
      { timeout: 60_000, interval: 200 },
    );
    const verified = await service.post('/v2/encryption/verify', undefined);
    expect(verified.body).toMatchObject({ checked: 2, unreadable_count: 0 });
    await take(id, 'restore');
    expect(await keyOf(id)).toEqual(shown);
  });

  test('stays retired, or destroyed, after the restore of an older backup', async () => {
    const key = await createKey(service, 'draining');
    const next = await take(key.id, 'rotate', {});
    const leaked = await retiredKey('leaked');
    const file = join(folder, 'backup.db');
    run('backup', '--to', file);
    await take(key.id, 'retire');
    await take(leaked.id, 'restore');
    expect((await service.delete(`/v2/tsigkeys/${leaked.id}`)).status).toBe(204);
    await service.stop('SIGTERM');
    expect(run('restore', file, '--yes')).toContain(
      '  tsigkey draining: retired\n  tsigkey leaked: deleted\n',
    );
    await start();
    const { body } = await service.get('/v2/tsigkeys');
    const names = (body.tsigkeys as { name: string }[]).map(({ name }) => name).sort();
    expect(names).toEqual(['draining-r2', 'leaked-r2']);
    expect((await lifecycleOf(next.id)).keys).toMatchObject([{ name: 'draining-r2' }]);
    expect((await lifecycleOf(leaked.next)).keys).toMatchObject([{ name: 'leaked-r2' }]);
    const refused = await service.post(`/v2/tsigkeys/${leaked.id}/restore`, undefined);
    expect(refused.status).toBe(404);
  });
});
