/** How long a slice lasts, in milliseconds. */
const SLICE_MS = 5;

/** How long a slice of a transaction lasts: other writes wait until all of it is done, so it gets most of each turn of the event loop. */
const TRANSACTION_SLICE_MS = 15;

/** How many items are sorted at a time. */
const RUN_LENGTH = 1000;

/** Divides long work into slices of a few milliseconds, between which the process serves other requests. */
export interface Slicer {
  /** Whether the current slice is used up. */
  isOver(): boolean;
  /** Lets the event loop serve what waits, then begins a new slice. */
  next(): Promise<void>;
  /** A slicer for work in a transaction, whose slices are longer. The first begins now. */
  forTransaction(): Slicer;
}

/** A slicer whose first slice begins now. `milliseconds` is a clock that does not go back. */
export function createSlicer(milliseconds: () => number, sliceMs = SLICE_MS): Slicer {
  let began = milliseconds();
  return {
    isOver: () => milliseconds() - began >= sliceMs,
    async next() {
      await new Promise((resume) => setImmediate(resume));
      began = milliseconds();
    },
    forTransaction: () => createSlicer(milliseconds, TRANSACTION_SLICE_MS),
  };
}

/** Calls `work` with each of `items`, in their order. */
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

/** A sorted copy of `items`. Runs are sorted in slices; the platform then merges them in a fraction of the time. */
export async function sortInSlices<T>(
  slicer: Slicer,
  items: readonly T[],
  compare: (one: T, other: T) => number,
): Promise<T[]> {
  const runs: T[] = [];
  for (let start = 0; start < items.length; start += RUN_LENGTH) {
    if (slicer.isOver()) await slicer.next();
    for (const item of items.slice(start, start + RUN_LENGTH).sort(compare)) runs.push(item);
  }
  return runs.sort(compare);
}
