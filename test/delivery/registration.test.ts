import { expect, onTestFinished, test } from 'vitest';
import { localProblems, registerNameServers } from '../../src/delivery/reconciler/registration.ts';
import { nameServer } from '../../src/resources/name-server.ts';
import { startTestService } from '../harness/service.ts';
import { openDeliveryDatabase } from './database.ts';

const serverOf = (name: string, file: string) => ({
  name,
  driver: 'bind',
  address: '127.0.0.1',
  local: { file, mode: '0640', controlHost: '127.0.0.1', controlPort: 953 },
});

test('two configured name servers cannot have the same name or the same file', () => {
  expect(localProblems([serverOf('ns1', '/a'), serverOf('ns2', '/b')])).toEqual([]);
  expect(localProblems([serverOf('ns1', '/a'), serverOf('NS1', '/b')])).toEqual([
    "'nameServers': the name 'NS1' is given twice. Use each name and each file only once",
  ]);
  expect(localProblems([serverOf('ns1', '/a'), serverOf('ns2', '/a')])).toEqual([
    "'nameServers': the file '/a' is given twice. Use each name and each file only once",
  ]);
});

test('the error for a pool that does not exist names the setting and a remedy', async () => {
  const started = startTestService({
    TSIGIL_NAME_SERVERS: JSON.stringify([{ ...serverOf('ns1', '/a'), pool: 'edge' }]),
  });
  await expect(started).rejects.toThrow(
    "'nameServers': the pool 'edge' of the name server 'ns1' does not exist. Remove the name server from the configuration, create the pool, and add the name server again",
  );
});

test('a name server gets the default pool and rights once the configuration no longer sets them', async () => {
  const opened = await openDeliveryDatabase();
  onTestFinished(() => opened.close());
  const edge = await opened.create('pools', { name: 'edge' });
  const register = async (set: object) => {
    const [registered] = await registerNameServers(opened.dependencies, [
      { ...serverOf('ns1', '/a'), ...set },
    ]);
    return opened.store.get(nameServer, registered?.id ?? '');
  };
  const created = await register({});
  expect(await register({ pool: 'edge', rights: ['update'] })).toMatchObject({
    pool_id: edge,
    rights: ['update'],
  });
  expect(await register({})).toMatchObject({
    pool_id: created?.pool_id,
    rights: created?.rights,
  });
  expect(created?.rights).toEqual(['transfer']);
});
