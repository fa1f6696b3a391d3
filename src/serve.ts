import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { AggregatorRegistry } from 'prom-client';
import type { Config } from './config/options.ts';
import { ServiceError } from './domain/model/errors.ts';
import { singleFlight } from './domain/scheduling/single-flight.ts';
import type { Log } from './http/request-log.ts';
import { createLog } from './log.ts';
import { startService, type Service } from './service.ts';
import { VERSION } from './version.ts';

/** Why and how a serving process ends. */
const EXIT_CODES = { stopped: 0, failed: 1 } as const;

/** How soon a worker that ended by itself is replaced: never faster than this. */
const RESTART_PAUSE_MS = 1000;

/** What processes of one service say to each other. */
type Message =
  | { readonly tsigil: 'stop' }
  | { readonly tsigil: 'config'; readonly config?: Config }
  | { readonly tsigil: 'metrics'; readonly request: number; readonly text?: string };

/**
 * Serves until SIGTERM or SIGINT, in this process or, with `workers`, in several; a second signal ends it at once.
 * `readConfig` is called in the first process only; workers get the configuration from it. `started` is called in the process
 * that serves, once it listens. Log lines go to standard output. Resolves with the exit code; throws what `readConfig` and
 * `startService` throw.
 */
export async function serve(readConfig: () => Config, started: (service: Service) => void): Promise<number> {
  const told = stopRequest();
  const config = cluster.isWorker ? await Promise.race([receiveConfig(), told.then(() => undefined)]) : readConfig();
  if (config === undefined) {
    process.disconnect();
    return EXIT_CODES.stopped;
  }
  const log = createLog(config.log.level, config.workers > 1 ? { pid: process.pid } : {});
  ignoreHangUp(log);
  if (config.workers > 1 && cluster.isPrimary) return superviseWorkers(config, told, log);
  const service = await startService(config, { log, ...(cluster.isWorker ? { readMetrics: readClusterMetrics() } : {}) });
  started(service);
  log.info({ url: service.url, version: VERSION, node: process.version }, 'listening');
  log.info({ reason: await told }, 'stopping');
  if (!cluster.isWorker) endAtNextSignal();
  await service.close();
  log.info({}, 'stopped');
  if (cluster.isWorker) process.disconnect();
  return EXIT_CODES.stopped;
}

/**
 * In a worker: asks the supervising process for the configuration. It does not come from the environment, because that of a process
 * can be read as long as it lives.
 */
function receiveConfig(): Promise<Config> {
  return new Promise((resolve) => {
    process.on('message', (message: Message) => {
      if (message.tsigil === 'config' && message.config !== undefined) resolve(message.config);
    });
    process.send?.({ tsigil: 'config' } satisfies Message);
  });
}

/** Survives SIGHUP, which would end the process. One line reports it, whatever the number of workers. */
function ignoreHangUp(log: Log): void {
  process.on('SIGHUP', () => {
    if (cluster.isWorker) return;
    log.warn({}, 'SIGHUP received: the configuration is not re-read. Restart the service to apply changes.');
  });
}

/** Resolves with the signal or message by which this process is told to stop. A worker may be told several times over. */
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
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(EXIT_CODES.failed));
}

/** Keeps as many workers as `config` says running until `told` resolves. A first worker that cannot start ends the service. */
async function superviseWorkers(config: Config, told: Promise<string>, log: Log): Promise<number> {
  let stopping = false;
  const seen = { listening: false };
  cluster.on('message', (worker, message: Message) => {
    // Node.js drops what is sent to a worker before it listens, so a worker that asks late is told to stop now.
    const answer: Message = stopping ? { tsigil: 'stop' } : { tsigil: 'config', config };
    if (message.tsigil === 'config') tell(worker, answer);
  });
  answerMetricsRequests();
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
      log.error({ worker: worker.process.pid, code, signal }, 'a worker ended; another takes its place');
      setTimeout(() => {
        if (!stopping) cluster.fork();
      }, RESTART_PAUSE_MS);
    });
  });
  for (let number = 0; number < config.workers; number += 1) cluster.fork();
  const reason = await Promise.race([told, failed]);
  stopping = true;
  log.info({ reason }, 'stopping');
  const workers = Object.values(cluster.workers ?? {}).filter((worker): worker is Worker => worker !== undefined);
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => {
      for (const worker of workers) worker.process.kill('SIGKILL');
      process.exit(EXIT_CODES.failed);
    });
  }
  const codes = await Promise.all(
    workers.map(async (worker) => {
      const exited = once(worker, 'exit') as Promise<[number | null]>;
      tell(worker, { tsigil: 'stop' });
      return (await exited)[0];
    }),
  );
  log.info({}, 'stopped');
  return seen.listening && codes.every((code) => code === 0) ? EXIT_CODES.stopped : EXIT_CODES.failed;
}

/** Sends a message to a worker. One that ends meanwhile needs none: without a callback the failure would be an error of the service. */
function tell(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}

/** In the supervising process: gives workers the figures of all of them together. */
function answerMetricsRequests(): void {
  const aggregator = new AggregatorRegistry();
  const aggregate = singleFlight(() => aggregator.clusterMetrics());
  cluster.on('message', (worker, message: Message) => {
    if (message.tsigil !== 'metrics') return;
    void aggregate().then(
      (text) => tell(worker, { ...message, text }),
      () => undefined, // a worker that ended meanwhile; the one that asked gives up by itself
    );
  });
}

/** In a worker: asks the supervising process for the figures of all workers. */
function readClusterMetrics(): () => Promise<string> {
  new AggregatorRegistry(); // answers the supervising process with this worker's figures
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
          reject(new ServiceError('unavailable', 'The metrics of the other processes did not arrive in time', { retryAfterSeconds: 5 }));
      }, 10_000).unref();
    });
}
