/**
 * Returns a function that reads values by id. Calls during a read share the next read, which begins
 * after them and so returns what was committed before each call.
 */
export function readInBatches<Value>(
  read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): (ids: readonly string[]) => Promise<ReadonlyMap<string, Value>> {
  let running: Promise<unknown> = Promise.resolve();
  let next:
    { readonly ids: Set<string>; readonly result: Promise<ReadonlyMap<string, Value>> } | undefined;
  const begin = () => {
    const ids = new Set<string>();
    const result = running.then(() => {
      next = undefined;
      return read([...ids]);
    });
    running = result.catch(() => undefined);
    return { ids, result };
  };
  return (ids) => {
    next ??= begin();
    for (const id of ids) next.ids.add(id);
    return next.result;
  };
}
