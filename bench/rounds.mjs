import { runWrk } from './wrk.mjs';

/** How far the rounds of one row may lie apart, as a part of their median, before the machine was too noisy to trust it. */
const MAX_SPREAD = 0.3;

/** The middle one of some numbers. */
export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * One measurement.
 *
 * @typedef {{ rate: number, cpu: number, p50?: number, p99?: number }} Measured things a second, CPU microseconds for each, milliseconds
 */

/** Loads a service, or a floor that speaks HTTP, with one job and measures it. @returns {Promise<Measured>} */
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
 * Loads a service, or a floor that speaks HTTP, with GET requests by wrk and measures it.
 *
 * @returns {Promise<Measured>}
 */
export async function underWrk(bench, server, { paths, connections }) {
  const before = server.cpu();
  const { requests, seconds, p50, p99 } = await runWrk({ url: server.url, headers: server.headers, paths, connections, seconds: bench.seconds });
  return { rate: requests / seconds, cpu: (server.cpu() - before) / requests, p50, p99 };
}

/** What a floor's own work came to. @returns {Promise<Measured>} */
export async function floorRun(floor, job) {
  const { count, seconds, cpu } = await floor.run(job);
  return { rate: count / seconds, cpu: cpu / count };
}

/**
 * Runs every part once, uncounted, for warmth, and then all of them in turn, `bench.rounds` times. Returns each part's measurements.
 *
 * @template {Record<string, () => Promise<Measured>>} Parts
 * @param {Parts} parts
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

/** The parts in which a figure of `measured` is compared with one of `floor`, round by round. */
const RATIOS = {
  cpu: (measured, floor) => measured.cpu / floor.cpu,
  rate: (measured, floor) => measured.rate / floor.rate,
};

/**
 * A row of the table: the medians of the rounds, and their ratio to a floor, whose `figure` is compared in the same round.
 *
 * @param {{ name: string, measured: Measured[], floor?: Measured[], figure?: 'cpu' | 'rate', target?: object, service?: object }} parts
 */
export function rowOf({ name, measured, floor, figure = 'cpu', target, service, peakMb = service?.memory('VmHWM') }) {
  const middle = (member) => (measured[0][member] === undefined ? undefined : median(measured.map((each) => each[member])));
  const ratios = floor?.map((each, round) => RATIOS[figure](measured[round], each));
  const compared = ratios ?? measured.map((each) => each[figure]);
  const value = ratios === undefined ? middle(target?.of ?? figure) : median(ratios);
  const spread = compared.length < 2 ? 0 : (Math.max(...compared) - Math.min(...compared)) / median(compared);
  return finish({
    name,
    rate: middle('rate'),
    p50: middle('p50'),
    p99: middle('p99'),
    cpu: middle('cpu'),
    peakMb,
    floor: floor === undefined ? undefined : median(floor.map((each) => each[figure])),
    floorFigure: figure,
    ratio: ratios === undefined ? undefined : value,
    value,
    target,
    spread,
  });
}

/** Completes a row with whether its `value` is what `target`, `{ atMost | atLeast, unit }`, wants. */
export function finish(row) {
  const { value, target, spread = 0 } = row;
  const met = target === undefined ? undefined : target.atMost === undefined ? value >= target.atLeast : value <= target.atMost;
  return { ...row, spread, met, noisy: spread > MAX_SPREAD };
}
