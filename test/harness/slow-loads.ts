import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Brand } from './brands/brand.ts';
import type { DrivenServer } from './driven-server.ts';
import { afterTests } from './leftovers.ts';

/** A name server that seems to load its configuration slowly. */
export interface SlowLoads {
  /** The options of its driver. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Holds back the responses to loads from now on. */
  hold(): void;
  /** Resolves once the response to a load is held back, and the next time for another load. */
  loading(): Promise<void>;
  /** Lets through what is held back, and the responses to later loads. */
  release(): void;
}

/** The commands by which drivers tell name servers to load, in the octets of all brands. */
const LOAD = /reconfig|reload/;

/**
 * Relays the control channel of a name server. The relay can hold back the responses to commands
 * that load its configuration, and ends with the tests of the file.
 */
export async function delayLoads(
  server: Pick<DrivenServer, 'folder' | 'controlPort'>,
  brand: Brand,
): Promise<SlowLoads> {
  const { controlSocket } = brand;
  const sockets = new Set<Socket>();
  const held = new Set<Socket>();
  const events: (() => void)[] = [];
  let isHolding = false;
  let isHeld = false;
  const relay = createServer((near) => {
    const far =
      controlSocket === undefined
        ? connect(server.controlPort, '127.0.0.1')
        : connect(join(server.folder, controlSocket));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('end', () => to.end());
      from.on('close', () => {
        sockets.delete(from);
        held.delete(from);
        to.destroy();
      });
    }
    far.on('data', (data) => near.write(data));
    near.on('data', (data) => {
      if (isHolding && LOAD.test(data.toString('latin1'))) {
        far.pause();
        held.add(far);
        isHeld = true;
        for (const resolve of events.splice(0)) resolve();
      }
      far.write(data);
    });
  });
  const path = join(server.folder, 'slow.sock');
  if (controlSocket === undefined) relay.listen(0, '127.0.0.1');
  else relay.listen(path);
  await once(relay, 'listening');
  afterTests(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  const address = relay.address();
  const changed =
    typeof address === 'object' && address !== null
      ? { controlPort: address.port }
      : { controlSocket: path };
  return {
    options: { ...brand.options(server), ...changed },
    hold() {
      isHolding = true;
    },
    async loading() {
      if (!isHeld) await new Promise<void>((resolve) => void events.push(resolve));
      isHeld = false;
    },
    release() {
      isHolding = false;
      for (const socket of held) socket.resume();
      held.clear();
    },
  };
}
