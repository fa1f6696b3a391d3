import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A fake Keystone that refuses every token and counts requests. */
export interface EmptyKeystone {
  readonly url: string;
  asked(): number;
  close(): void;
}

/** Starts a fake Keystone on a free port. */
export async function startEmptyKeystone(): Promise<EmptyKeystone> {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    const error = {
      code: 404,
      title: 'Not Found',
      message: 'This is not a recognized Fernet token',
    };
    response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
