/**
 * Runs `work` for each item, for at most `limit` items at a time. Returns the results in the order
 * of `items`. After an error, starts no further work, and throws the error once all started work
 * has ended.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  const remaining = items.entries();
  const run = async () => {
    for (const [index, item] of remaining) {
      if (failures.length > 0) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, run));
  if (failures.length > 0) throw failures[0];
  return results;
}
