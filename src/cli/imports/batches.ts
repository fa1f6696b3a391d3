/** The size of a request that every Designate and Tsigil service accepts. */
export const ACCEPTED_BYTES = 90_000;

/** The maximum size of a batch: the number of items, and their bytes as JSON. */
export interface BatchSize {
  readonly items: number;
  readonly bytes: number;
}

/**
 * Divides items into batches for one request each. `jsonOf` returns the part of an item that the
 * request contains.
 */
export function* batchesOf<T>(
  items: readonly T[],
  most: BatchSize,
  jsonOf: (item: T) => object,
): Generator<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = jsonBytes(jsonOf(item));
    if (batch.length === most.items || (batch.length > 0 && bytes + size > most.bytes)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Returns the number of bytes of an item in a JSON array, including the comma. */
export function jsonBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value)) + 1;
}
