import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { expect, test } from 'vitest';
import { describeFault, faultOf, placedFault } from '../../src/net/faults.ts';
import { temporaryFolder } from '../harness/service.ts';

function thrown(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

test('names the file that cannot be opened, the reason and a remedy', () => {
  expect(placedFault(thrown(() => readFileSync('/nonexistent/file')))).toEqual({
    code: 'ENOENT',
    message: "'/nonexistent/file' cannot be opened: no such file or folder",
    hint: 'Check the path.',
  });
  expect(faultOf(thrown(() => readFileSync('/')))).toMatchObject({
    message: 'the path is a folder, not a file',
  });
  const folder = temporaryFolder();
  const error = thrown(() => {
    writeFileSync(join(folder, 'file'), '');
    writeFileSync(join(folder, 'file'), '', { flag: 'wx' });
  });
  expect(describeFault(error)).toBe(
    `'${join(folder, 'file')}' cannot be opened: file already exists`,
  );
});

test('names the address that the service cannot bind or reach', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const second = createServer().listen(port, '127.0.0.1');
  const [inUse] = (await once(second, 'error')) as [Error];
  expect(placedFault(inUse).message).toBe(
    `Cannot listen on '127.0.0.1:${port}': address already in use`,
  );
  server.close();
  await once(server, 'close');
  const [refused] = (await once(connect(port, '127.0.0.1'), 'error')) as [Error];
  expect(describeFault(refused)).toBe(
    `'127.0.0.1:${port}' cannot be reached: nothing listens at the address`,
  );
});

test('replaces the messages of OpenSSL', () => {
  const error = thrown(() => createSecureContext({ cert: 'no certificate', key: 'no key' }));
  expect((error as Error).message).toContain('PEM routines');
  expect(describeFault(error)).toBe('no usable certificate or key was found');
});

test('returns other errors unchanged', () => {
  expect(placedFault(new Error('else'))).toEqual({ code: '', message: 'else' });
  expect(describeFault(new Error('else'))).toBe('else');
  expect(describeFault('text')).toBe('text');
});
