import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { connectionLimits, readOpenFilesLimit } from '../../src/config/connection-limits.ts';

const limits = (
  variables: Record<string, string>,
  isShared: boolean,
  openFiles: number | undefined,
) => connectionLimits(readConfig(undefined, variables), isShared, openFiles);

test('the connection limits are the settings if the open-file limit is high enough or unknown', () => {
  for (const openFiles of [undefined, 20_000, 4136]) {
    expect(limits({}, false, openFiles)).toEqual({
      maxConnections: 4096,
      maxConnectionsPerAddress: 1024,
      openFiles: undefined,
    });
  }
});

test.each([
  [{}, false, 1024, 984, 492],
  [{ TSIGIL_DATABASE_POOL_MAX_CONNECTIONS: '100' }, true, 1024, 884, 442],
  [{ TSIGIL_AUTH_METHOD: 'keystone', TSIGIL_AUTH_KEYSTONE_URL: 'http://k' }, false, 1024, 952, 476],
  [{}, false, 10, 1, 1],
])(
  'a low open-file limit lowers the connection limits: %j, shared database %s, %i files',
  (variables, isShared, openFiles, maxConnections, share) => {
    expect(limits(variables, isShared, openFiles)).toEqual({
      maxConnections,
      maxConnectionsPerAddress: share,
      openFiles,
    });
  },
);

test('connections per address have no limit if the service trusts proxy headers', () => {
  expect(
    limits({ TSIGIL_API_TRUST_PROXY_HEADERS: 'true' }, false, undefined).maxConnectionsPerAddress,
  ).toBeUndefined();
});

test('reads the open-file limit of this process', () => {
  expect(readOpenFilesLimit()).toBeGreaterThan(10);
});
