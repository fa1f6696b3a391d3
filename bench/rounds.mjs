import { runWrk } from './wrk.mjs';

/**
 * The maximum difference between the rounds of a row, as a fraction of their median. The table
 * marks a row above this limit as too noisy.
 */
const MAX_SPREAD = 0.3;

/** Returns the median: for an even count, the mean of the two middle values. */
export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * One measurement: operations per second, CPU microseconds per operation, and latencies in
 * milliseconds.
 *
 * @typedef {{ rate: number, cpu: number, p50?: number, p99?: number }} Measured
 */

/**
 * Sends the requests of one job to a service or an HTTP floor, and returns the measurement.
 * @returns {Promise<Measured>}
 */
export async function underLoad(bench, server, job) {
  const before = server.cpu();
  const { requests, seconds, p50, p99 } = await bench.load.send({
    url: server.url,
    headers: server.headers,
    connections: 64,
    ...(job.amount === undefined ? { seconds: bench.seconds } : {}),
    ...job,
  });
  return { rate: requests / seconds, cpu: (server.cpu() - before) / requests, p50, p99 };
}

/**
 * Sends GET requests to a service or an HTTP floor with wrk, and returns the measurement.
 *
 * @returns {Promise<Measured>}
 */
export async function underWrk(bench, server, { paths, connections }) {
  const before = server.cpu();
  const { requests, seconds, p50, p99 } = await runWrk({
    url: server.url,
    headers: server.headers,
    paths,
    connections,
    seconds: bench.seconds,
  });
  return { rate: requests / seconds, cpu: (server.cpu() - before) / requests, p50, p99 };
}

/**
 * Runs one job in a floor without HTTP, and returns the measurement.
 * @returns {Promise<Measured>}
 */
export async function floorRun(floor, job) {
  const { count, seconds, cpu } = await floor.run(job);
  return { rate: count / seconds, cpu: cpu / count };
}

/**
 * Runs all parts one after another, once to warm up and then `bench.rounds` times. Returns the
 * measurements of each part without the warm-up.
 *
 * @template {Record<string, () => Promise<Measured>>} Parts
 *
 * @param {Parts} parts
 *
 * @returns {Promise<{ [Name in keyof Parts]: Measured[] }>}
 */
export async function interleave(bench, parts) {
  const measured = Object.fromEntries(Object.keys(parts).map((name) => [name, []]));
  for (let round = 0; round <= bench.rounds; round += 1) {
    for (const [name, part] of Object.entries(parts)) {
      const result = await part();
      if (round > 0) measured[name].push(result);
    }
  }
  return measured;
}

/** The ratio of a metric of `measured` to the same metric of `floor`, in one round. */
const RATIOS = {
  cpu: (measured, floor) => measured.cpu / floor.cpu,
  rate: (measured, floor) => measured.rate / floor.rate,
};

/** Returns the median of every `count` values. */
function mediansOf(values, count) {
  const groups = Math.ceil(values.length / count);
  return Array.from({ length: groups }, (_, index) =>
    median(values.slice(index * count, (index + 1) * count)),
  );
}

/**
 * Returns a row of the table: the medians of the rounds, and the median ratio to a floor. `metric`
 * is the metric that each round compares. `shortRounds` is how many rounds make one for the spread.
 *
 * @param {{ name: string, measured: Measured[], floor?: Measured[], metric?: 'cpu' | 'rate', shortRounds?: number, target?: object, service?: object }} parts
 */
export function rowOf({
  name,
  measured,
  floor,
  metric = 'cpu',
  shortRounds = 1,
  target,
  service,
  peakMb = service?.memory('VmHWM'),
}) {
  const middle = (member) =>
    measured[0][member] === undefined ? undefined : median(measured.map((each) => each[member]));
  const ratios = floor?.map((each, round) => RATIOS[metric](measured[round], each));
  const compared = mediansOf(ratios ?? measured.map((each) => each[metric]), shortRounds);
  const value = ratios === undefined ? middle(target?.of ?? metric) : median(ratios);
  const spread =
    compared.length < 2 ? 0 : (Math.max(...compared) - Math.min(...compared)) / median(compared);
  return finish({
    name,
    rate: middle('rate'),
    p50: middle('p50'),
    p99: middle('p99'),
    cpu: middle('cpu'),
    peakMb,
    floor: floor === undefined ? undefined : median(floor.map((each) => each[metric])),
    floorMetric: metric,
    ratio: ratios === undefined ? undefined : value,
    value,
    target,
    spread,
  });
}

/**
 * Adds to a row whether its `value` meets its `target`, and whether the row is too noisy. A target
 * is `{ atMost | atLeast, unit }`.
 */
export function finish(row) {
  const { value, target, spread = 0 } = row;
  const { atLeast = -Infinity, atMost = Infinity } = target ?? {};
  const met = target === undefined ? undefined : value >= atLeast && value <= atMost;
  return { ...row, spread, met, noisy: spread > MAX_SPREAD };
}
