/**
 * Runs `work` on each item, `concurrency` at a time. Throws the first error after all started work
 * has ended.
 */
export async function inParallel<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const failures: unknown[] = [];
  const worker = async () => {
    for (const item of waiting) {
      if (failures.length > 0) return;
      await work(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}

/**
 * Returns a function that runs tasks, at most `concurrency` at a time, in the order of its calls.
 * The function returns what the task returns, and throws what the task throws. Once a task has
 * failed, the function starts no further task and throws the same error.
 */
export function limiter(concurrency: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  let failure: { readonly error: unknown } | undefined;
  return async (task) => {
    if (running < concurrency) running += 1;
    else await new Promise<void>((start) => waiting.push(start));
    try {
      if (failure !== undefined) throw failure.error;
      return await task();
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
