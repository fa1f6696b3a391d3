import type { Config } from './config/options.ts';
import { reload, type Change } from './config/reload.ts';
import { createLog } from './log.ts';
import { startService, type Service } from './service.ts';
import { VERSION } from './version.ts';

/**
 * Serves until SIGTERM or SIGINT. A second signal ends the service immediately. SIGHUP reads the
 * configuration again. `again` allows a database that was copied to another. Calls `started` once
 * the process listens. Log lines go to standard output. Throws what `readConfig` and `startService`
 * throw.
 */
export async function serve(
  readConfig: () => Config,
  again: boolean,
  started: (service: Service) => void,
): Promise<void> {
  const stopRequested = stopRequest();
  const hangUps = createMailbox();
  process.on('SIGHUP', hangUps.put); // without a listener, the signal would end the process
  let current = readConfig();
  const log = createLog(current.log.level);
  const service = await startService(current, { log, again });
  const apply = ({ config: next, certificate }: Change) => {
    service.change(next, certificate);
    log.setLevel(next.log.level);
  };
  hangUps.receive(() => {
    current = reload(current, readConfig, apply, log);
  });
  started(service);
  // On a terminal, the main program prints the address.
  if (!process.stdout.isTTY)
    log.info({ url: service.url, version: VERSION, node: process.version }, 'listening');
  log.info({ reason: await stopRequested }, 'stopping');
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(1));
  await service.close();
  log.info({}, 'stopped');
}

/** Calls are passed to a receiver, and one is kept until there is a receiver. */
interface Mailbox {
  readonly put: () => void;
  receive(handle: () => void): void;
}

function createMailbox(): Mailbox {
  let isWaiting = false;
  let handle = (): void => {
    isWaiting = true;
  };
  return {
    put: () => handle(),
    receive(next) {
      handle = next;
      if (isWaiting) next();
    },
  };
}

function stopRequest(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.once(signal, () => resolve(signal));
  });
}
