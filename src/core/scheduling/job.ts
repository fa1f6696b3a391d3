/** A lease, as a job needs it: the exclusive right of one process to do the work. */
export interface JobLease {
  isHeldElsewhere(): Promise<boolean>;
  release(): Promise<void>;
}

interface JobOptions {
  readonly everyMs: number;
  /**
   * If set, the work is skipped while another process holds the lease. The work claims it when it
   * writes, so that an idle process writes nothing.
   */
  readonly lease?: JobLease | undefined;
  work(): Promise<unknown>;
  /** Receives the first error after a success, not one for every attempt. */
  failed(error: unknown): void;
}

/** Work that is repeated until `close`. Runs never overlap. */
export interface Job {
  /** Does the work now; after the run in progress, once more. */
  wake(): void;
  /** Waits for the run in progress, does `last`, and releases the lease. */
  close(last?: () => Promise<unknown>): Promise<void>;
}

/** Starts a job. The first run is after `everyMs`, or at the first `wake`. */
export function runJob({ everyMs, lease, work, failed }: JobOptions): Job {
  let isRequested = false;
  let isClosed = false;
  let isFailing = false;
  let running: Promise<void> | undefined;

  const attempt = async (some: () => Promise<unknown>) => {
    try {
      await some();
      isFailing = false;
    } catch (error) {
      if (!isFailing) failed(error);
      isFailing = true;
    }
  };
  const run = async () => {
    while (isRequested && !isClosed) {
      isRequested = false;
      await attempt(async () => {
        if ((await lease?.isHeldElsewhere()) !== true) await work();
      });
    }
  };
  const wake = () => {
    isRequested = true;
    running ??= run().finally(() => (running = undefined));
  };
  const timer = setInterval(wake, everyMs).unref();

  return {
    wake,
    async close(last) {
      isClosed = true;
      clearInterval(timer);
      await running;
      if (last !== undefined) await attempt(last);
      await lease?.release().catch(() => undefined); // it expires
    },
  };
}
