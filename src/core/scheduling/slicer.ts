const SLICE_MS = 5;

/**
 * The duration of a slice of a transaction, in milliseconds. Other writes wait for the whole
 * transaction, so the transaction gets most of each turn of the event loop.
 */
const TRANSACTION_SLICE_MS = 15;

/** How long arriving connections may delay a slice, in milliseconds. */
const ACCEPTING_MS = 100;

/** The connections that this process has accepted so far. Its slices share one event loop. */
let accepted = 0;

/** Reports a new connection to this process, whose slices then wait. */
export function noteConnection(): void {
  accepted += 1;
}

/** Long work in slices of 5 ms, or 15 ms in a transaction. Other requests run between slices. */
export interface Slicer {
  isOver(): boolean;
  /**
   * Lets the event loop run waiting work, then begins a new slice. While connections arrive, waits
   * for up to 100 ms: Node.js accepts one in a turn of the event loop, so with a slice in every turn
   * a connection would wait as many slices as connections are ahead of it.
   */
  next(): Promise<void>;
  /** Returns a slicer for work in a transaction, with longer slices. The first slice begins now. */
  forTransaction(): Slicer;
}

/** Returns a slicer whose first slice begins now. `milliseconds` is a monotonic clock. */
export function createSlicer(milliseconds: () => number, sliceMs = SLICE_MS): Slicer {
  let began = milliseconds();
  return {
    isOver: () => milliseconds() - began >= sliceMs,
    async next() {
      const since = milliseconds();
      let before;
      do {
        before = accepted;
        await new Promise((resume) => setImmediate(resume));
      } while (accepted !== before && milliseconds() - since < ACCEPTING_MS);
      began = milliseconds();
    },
    forTransaction: () => createSlicer(milliseconds, TRANSACTION_SLICE_MS),
  };
}

export async function nextIfOver(slicer: Slicer): Promise<void> {
  if (slicer.isOver()) await slicer.next();
}

/**
 * Splits a list into parts, each for one statement. Each part has the largest of `sizes`, smallest
 * first, that the remaining items fill, or contains all remaining items.
 */
export function* parts<T>(
  list: readonly T[],
  ...sizes: readonly number[]
): Generator<readonly T[], undefined> {
  for (let start = 0; start < list.length;) {
    const left = list.length - start;
    const size = sizes.findLast((each) => each <= left) ?? left;
    yield list.slice(start, start + size);
    start += size;
  }
}

/**
 * Yields parts like `parts`. After each slice, other requests run before the next part, because
 * statements on the embedded database block the event loop.
 */
export async function* partsInSlices<T>(
  list: readonly T[],
  slicer: Slicer,
  ...sizes: readonly number[]
): AsyncGenerator<readonly T[]> {
  for (const part of parts(list, ...sizes)) {
    if (slicer.isOver()) await slicer.next();
    yield part;
  }
}

export async function eachInSlices<T>(
  slicer: Slicer,
  items: Iterable<T>,
  work: (item: T) => void,
): Promise<void> {
  for (const item of items) {
    if (slicer.isOver()) await slicer.next();
    work(item);
  }
}
