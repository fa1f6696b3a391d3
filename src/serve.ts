import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { AggregatorRegistry } from 'prom-client';
import type { Config } from './config/options.ts';
import { reload, type Change } from './config/reload.ts';
import { ServiceError } from './domain/model/errors.ts';
import { singleFlight } from './domain/scheduling/single-flight.ts';
import { createLog, type ServiceLog } from './log.ts';
import { startService, type Service } from './service.ts';
import { VERSION } from './version.ts';

const EXIT_CODES = { stopped: 0, failed: 1 } as const;

const RESTART_PAUSE_MS = 1000;

/** The messages between the processes of one service. */
type Message =
  | { readonly tsigil: 'stop' }
  | { readonly tsigil: 'config'; readonly config?: Config }
  | { readonly tsigil: 'change'; readonly change: Change }
  | { readonly tsigil: 'metrics'; readonly request: number; readonly text?: string };

/**
 * Serves until SIGTERM or SIGINT, in this process or, depending on the setting `workers`, in
 * several workers. A second signal ends the service immediately. SIGHUP reads the configuration
 * again. Calls `readConfig` in the first process only. Workers receive the configuration and its
 * changes from that process. `again` allows a database that was copied to another. Calls `started` in each serving process once the process listens. Log
 * lines go to standard output. Resolves with the exit code. Throws what `readConfig` and
 * `startService` throw.
 */
export async function serve(
  readConfig: () => Config,
  again: boolean,
  started: (service: Service) => void,
): Promise<number> {
  const stopRequested = stopRequest();
  const hangUps = createMailbox<string>();
  process.on('SIGHUP', hangUps.put); // without a listener, the signal would end the process
  const changes = cluster.isWorker ? receiveChanges() : undefined;
  const config = cluster.isWorker
    ? await Promise.race([receiveConfig(), stopRequested.then(() => undefined)])
    : readConfig();
  if (config === undefined) {
    process.disconnect();
    return EXIT_CODES.stopped;
  }
  const log = createLog(config.log.level, config.workers > 1 ? { pid: process.pid } : {});
  let current = config;
  const reloadInto = (apply: (change: Change) => void) => () => {
    current = reload(current, readConfig, apply, log);
  };
  if (config.workers > 1 && cluster.isPrimary) {
    hangUps.receive(
      reloadInto((change) => {
        log.setLevel(change.config.log.level);
        for (const worker of listWorkers()) sendTo(worker, { tsigil: 'change', change });
      }),
    );
    return superviseWorkers(() => current, stopRequested, log);
  }
  const service = await startService(config, {
    log,
    again,
    ...(cluster.isWorker ? { readMetrics: readClusterMetrics() } : {}),
  });
  const apply = ({ config: next, certificate }: Change) => {
    service.change(next, certificate);
    log.setLevel(next.log.level);
  };
  if (changes === undefined) hangUps.receive(reloadInto(apply));
  else changes.receive(apply);
  started(service);
  // On a terminal, the main program prints the address.
  if (!process.stdout.isTTY)
    log.info({ url: service.url, version: VERSION, node: process.version }, 'listening');
  log.info({ reason: await stopRequested }, 'stopping');
  if (!cluster.isWorker) endAtNextSignal();
  await service.close();
  log.info({}, 'stopped');
  if (cluster.isWorker) process.disconnect();
  return EXIT_CODES.stopped;
}

/**
 * In a worker, requests the configuration from the supervising process. The environment does not
 * contain the configuration, because the environment of a process stays readable while the process
 * runs.
 */
function receiveConfig(): Promise<Config> {
  return new Promise((resolve) => {
    process.on('message', (message: Message) => {
      if (message.tsigil === 'config' && message.config !== undefined) resolve(message.config);
    });
    process.send?.({ tsigil: 'config' } satisfies Message);
  });
}

/**
 * In a worker, receives the changes of the configuration from the supervising process. The mailbox
 * stores the latest change that arrives while the worker starts.
 */
function receiveChanges(): Mailbox<Change> {
  const changes = createMailbox<Change>();
  process.on('message', (message: Message) => {
    if (message.tsigil === 'change') changes.put(message.change);
  });
  return changes;
}

/**
 * A mailbox that passes values to a receiver. Before the receiver is set, the mailbox stores the
 * latest value.
 */
interface Mailbox<T> {
  readonly put: (value: T) => void;
  receive(handle: (value: T) => void): void;
}

function createMailbox<T>(): Mailbox<T> {
  let waiting: readonly T[] = [];
  let handle = (value: T): void => {
    waiting = [value];
  };
  return {
    put: (value) => handle(value),
    receive(next) {
      handle = next;
      waiting.forEach(next);
    },
  };
}

/**
 * Resolves with the first signal or message that requests a stop. A worker may receive several such
 * signals and messages.
 */
function stopRequest(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      if (cluster.isWorker) process.on(signal, () => resolve(signal));
      else process.once(signal, () => resolve(signal));
    }
    if (!cluster.isWorker) return;
    process.on('message', (message: Message) => {
      if (message.tsigil === 'stop') resolve('stop');
    });
    process.once('disconnect', () => resolve('the supervising process ended'));
  });
}

function endAtNextSignal(): void {
  for (const signal of ['SIGTERM', 'SIGINT'])
    process.once(signal, () => process.exit(EXIT_CODES.failed));
}

/**
 * Runs workers until `stopRequested` resolves, and replaces workers that exit. Reads the number of
 * workers from the configuration that `current` returns. Ends the service if no worker can start.
 */
async function superviseWorkers(
  current: () => Config,
  stopRequested: Promise<string>,
  log: ServiceLog,
): Promise<number> {
  let stopping = false;
  const seen = { listening: false };
  cluster.on('message', (worker, message: Message) => {
    // Node.js drops messages to a worker that does not listen yet. A worker that requests its
    // configuration during a stop receives 'stop' here.
    const reply: Message = stopping ? { tsigil: 'stop' } : { tsigil: 'config', config: current() };
    if (message.tsigil === 'config') sendTo(worker, reply);
  });
  serveMetricsRequests();
  const failed = new Promise<string>((resolve) => {
    cluster.on('listening', () => {
      seen.listening = true;
    });
    cluster.on('exit', (worker, code, signal) => {
      if (stopping) return;
      if (!seen.listening) {
        resolve('no worker could start');
        return;
      }
      log.error(
        { worker: worker.process.pid, code, signal },
        'a worker exited; a replacement starts in 1 s',
      );
      setTimeout(() => {
        if (!stopping) cluster.fork();
      }, RESTART_PAUSE_MS);
    });
  });
  for (let number = 0; number < current().workers; number += 1) cluster.fork();
  const reason = await Promise.race([stopRequested, failed]);
  stopping = true;
  log.info({ reason }, 'stopping');
  const workers = listWorkers();
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => {
      for (const worker of workers) worker.process.kill('SIGKILL');
      process.exit(EXIT_CODES.failed);
    });
  }
  const codes = await Promise.all(
    workers.map(async (worker) => {
      const exited: Promise<unknown[]> = once(worker, 'exit');
      sendTo(worker, { tsigil: 'stop' });
      return (await exited)[0];
    }),
  );
  log.info({}, 'stopped');
  return seen.listening && codes.every((code) => code === 0)
    ? EXIT_CODES.stopped
    : EXIT_CODES.failed;
}

function listWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? []);
}

/**
 * Sends a message to a worker. Ignores a failure, because a worker that has exited needs no
 * message. Without a callback, Node.js would throw.
 */
function sendTo(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}

/** In the supervising process, sends the metrics of all workers to a worker that requests them. */
function serveMetricsRequests(): void {
  const aggregator = new AggregatorRegistry();
  const aggregate = singleFlight(() => aggregator.clusterMetrics());
  cluster.on('message', (worker, message: Message) => {
    if (message.tsigil !== 'metrics') return;
    void aggregate().then(
      (text) => sendTo(worker, { ...message, text }),
      () => undefined, // a worker exited meanwhile; the request for metrics times out
    );
  });
}

/** In a worker, requests the metrics of all workers from the supervising process. */
function readClusterMetrics(): () => Promise<string> {
  new AggregatorRegistry(); // sends this worker's metrics to the supervising process
  const waiting = new Map<number, (text: string) => void>();
  let last = 0;
  process.on('message', (message: Message) => {
    if (message.tsigil !== 'metrics' || message.text === undefined) return;
    waiting.get(message.request)?.(message.text);
    waiting.delete(message.request);
  });
  return () =>
    new Promise((resolve, reject) => {
      const request = (last += 1);
      waiting.set(request, resolve);
      process.send?.({ tsigil: 'metrics', request } satisfies Message);
      setTimeout(() => {
        if (waiting.delete(request))
          reject(
            new ServiceError(
              'unavailable',
              'The other workers did not return their metrics within 10 s',
              { retryAfterSeconds: 5 },
            ),
          );
      }, 10_000).unref();
    });
}
