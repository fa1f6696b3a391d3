import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A request that another caller repeats. A counter replaces `{number}` in the body. */
export interface Probe {
  readonly name: string;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly perSecond: number;
  readonly timeoutSeconds: number;
  /** Whether each request uses a new connection. */
  readonly newConnections?: boolean;
}

/** One request of a probe. If the request failed, `status` is 0 and `fault` is the reason. */
export interface Sample {
  readonly at: number;
  readonly milliseconds: number;
  readonly status: number;
  readonly fault?: string;
}

/** Another caller that sends requests during an attack. */
export interface Bystander {
  /** Stops the caller and returns the samples of each probe. */
  stop(): Promise<Readonly<Record<string, readonly Sample[]>>>;
}

/** Starts a separate process that sends these requests as another caller. */
export function startBystander(probes: readonly Probe[]): Bystander {
  const child = fork(join(import.meta.dirname, 'bystander.mjs'), { execArgv: [] });
  child.send({ probes });
  return {
    async stop() {
      child.send({});
      const [samples] = (await once(child, 'message')) as [
        Readonly<Record<string, readonly Sample[]>>,
      ];
      return samples;
    },
  };
}

/**
 * Starts a minimal server in a separate process. Requests to it measure the delay of the machine.
 */
export async function startFloor(): Promise<{ url: string; stop(): void }> {
  const child = fork(join(import.meta.dirname, 'floor.mjs'), { execArgv: [] });
  const [port] = (await once(child, 'message')) as [number];
  return { url: `http://127.0.0.1:${port}`, stop: () => child.disconnect() };
}
