import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { DesiredKey } from '../../src/brands/desired-state.ts';
import { DriverError } from '../../src/brands/driver.ts';
import { makePass } from '../../src/delivery/reconciler/pass.ts';
import { insertDataKey } from '../../src/sql/data-keys.ts';
import { openFolderDelivery, passDependencies } from './set-up.ts';

test('no message contains a part of a secret that the service can no longer decrypt', async () => {
  const delivery = await openFolderDelivery();
  onTestFinished(() => delivery.close());
  const { opened, folder, server } = delivery;
  const memory = new Map<string, DesiredKey>();
  const dependencies = passDependencies(delivery, { memory });
  const pass = async () => {
    await dependencies.store.checkNow([server]);
    return makePass(dependencies, server);
  };
  const secret = randomBytes(32).toString('base64');
  await opened.create('tsigkeys', { ...opened.key('kept'), secret });
  await pass();
  await opened.database.write(async (sql) => {
    await insertDataKey(sql, {
      number: 9,
      purpose: 'secrets',
      wrapped: 'x',
      wrappedBy: 'x',
      createdAt: '2026-01-02T03:04:05.000006',
    });
    await sql.run('UPDATE tsigkeys SET secret_key = 9', []);
  });
  expect(await pass()).toMatchObject({ error: null });
  folder.fail(new DriverError('refused_by_server', `line 3: ${secret.slice(0, 25)}`));
  expect((await pass())?.error).toEqual({
    code: 'refused_by_server',
    message: 'The message contained a secret, and was removed',
  });
});
