import { expect, vi } from 'vitest';
import type { ShownLifecycle } from '../../src/rotation/lifecycle-response.ts';
import type { Client } from '../harness/client.ts';
import { shownServer } from '../harness/delivery.ts';

export async function lifecycleOf(client: Client, id: string): Promise<ShownLifecycle['keys']> {
  const response = await client.get(`/v2/tsigkeys/${id}/lifecycle`);
  expect(response.status, response.text).toBe(200);
  return (response.body as ShownLifecycle).keys;
}

export async function take(
  client: Client,
  id: string,
  action: string,
  body?: object,
  force = false,
) {
  const headers = force ? { 'tsigil-force': 'true' } : {};
  const response = await client.post(`/v2/tsigkeys/${id}/${action}`, body, headers);
  expect(response.status, response.text).toBeLessThan(300);
  return response.body as unknown;
}

/** Makes passes until `check` succeeds. */
export async function untilPass(client: Client, check: () => Promise<void>): Promise<void> {
  const { id } = await shownServer(client);
  await vi.waitFor(
    async () => {
      await client.post(`/v2/nameservers/${id}/reconcile`, {});
      await check();
    },
    { timeout: 120_000, interval: 300 },
  );
}
