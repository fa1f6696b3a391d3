import { expect } from 'vitest';
import type { Sample } from './bystander.ts';
import { measure, type Measurement } from './measure.ts';
import type { Scenario } from './scenario.ts';

/**
 * The maximum delay of other callers' requests in milliseconds, without the delay of the machine.
 * `memoryMb` is the maximum memory in MB.
 */
export const BOUNDS = { get: 250, healthcheck: 250, write: 1000, memoryMb: 512 } as const;

const MAX_ATTEMPTS = 3;

/** The expected status of each probe. */
const EXPECTED = { get: 200, healthcheck: 200, write: 201 } as const;

type ProbeName = keyof typeof EXPECTED;

/**
 * Attacks a service as `scenario` describes, and expects no violated bound. If a bound is violated,
 * attacks another service, because other programs may have loaded the machine. `note` receives a
 * text about each attack.
 */
export async function expectBounded(
  scenario: Scenario,
  note: (line: string) => unknown,
): Promise<void> {
  const attempt = async () => {
    const measurement = await measure(scenario);
    const problems = problemsOf(scenario, measurement);
    await note([describe(measurement), ...problems].join('\n'));
    return problems;
  };
  for (let attempts = 1; attempts < MAX_ATTEMPTS; attempts += 1)
    if ((await attempt()).length === 0) return;
  expect(await attempt()).toEqual([]);
}

/** Returns the violated bounds of a measurement. */
function problemsOf(scenario: Scenario, measurement: Measurement): string[] {
  const { report, peakMemoryMb, remains, problems } = measurement;
  const count = (statuses: RegExp) =>
    Object.entries(report.answers).reduce(
      (sum, [status, each]) => (statuses.test(status) ? sum + each : sum),
      0,
    );
  const done = { ...report, answers: count(/./), succeeded: count(/^2/) };
  const short = Object.entries(scenario.atLeast).filter(
    ([name, least]) => done[name as keyof typeof scenario.atLeast] < least,
  );
  return [
    ...short.map(
      ([name, least]) =>
        `the attacker is too weak: ${name} ${done[name as keyof typeof scenario.atLeast]}, at least ${least} expected`,
    ),
    ...(report.firstFault === undefined
      ? []
      : [`the attacker was answered with 500: ${report.firstFault}`]),
    ...(scenario.servedAgainWithinSeconds === undefined
      ? delays(scenario, measurement)
      : gaps(scenario.servedAgainWithinSeconds, measurement)),
    ...(peakMemoryMb <= BOUNDS.memoryMb ? [] : [`${Math.round(peakMemoryMb)} MB of memory`]),
    ...remains.map((each) => `10 s after the attack: ${each}`),
    ...problems,
  ];
}

/**
 * Returns the delays of the other caller's requests that exceed the bounds. Subtracts the delay of
 * a minimal server, and counts only the time in which the service had a CPU.
 */
function delays({ writes }: Scenario, { samples, processorShare }: Measurement): string[] {
  const floor = samples.floor ?? [];
  const names: ProbeName[] =
    writes === true ? ['get', 'healthcheck', 'write'] : ['get', 'healthcheck'];
  return names.flatMap((name) => {
    const own = samples[name] ?? [];
    const part = name === 'get' ? 0.99 : 1;
    const delay = (percentile(own, part) - percentile(floor, part)) * processorShare;
    return [
      ...wrongResponses(name, own),
      ...(delay <= BOUNDS[name]
        ? []
        : [`${name} took ${Math.round(delay)} ms more than the machine`]),
    ];
  });
}

/**
 * Returns problems with requests on new connections that began `withinSeconds` after the start of
 * the attack or later.
 */
function gaps(withinSeconds: number, { samples, beganAt, processorShare }: Measurement): string[] {
  const slowest = percentile(samples.floor ?? [], 1);
  return (['get', 'healthcheck'] as const).flatMap((name) => {
    const later = (samples[name] ?? []).filter(({ at }) => at >= beganAt + withinSeconds * 1000);
    const slow = later.filter(
      ({ milliseconds }) => (milliseconds - slowest) * processorShare > BOUNDS[name],
    ).length;
    return [
      ...(later.length < 5
        ? [`${name} was asked for ${later.length} times only after ${withinSeconds} s`]
        : []),
      ...wrongResponses(name, later),
      ...(slow > 0
        ? [
            `${slow} of ${later.length} ${name} took more than ${BOUNDS[name]} ms after ${withinSeconds} s`,
          ]
        : []),
    ];
  });
}

function wrongResponses(name: ProbeName, samples: readonly Sample[]): string[] {
  const wrong = samples.filter(({ status }) => status !== EXPECTED[name]);
  const [first] = wrong;
  const shown = first === undefined ? '' : `${first.status} ${first.fault ?? ''}`;
  return wrong.length === 0
    ? []
    : [`${wrong.length} of ${samples.length} ${name} failed, the first with ${shown}`];
}

/** Returns the percentile `part` of the samples in milliseconds, or NaN without samples. */
function percentile(samples: readonly Sample[], part: number): number {
  const times = samples.map(({ milliseconds }) => milliseconds).sort((one, other) => one - other);
  return times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? NaN;
}

function describe({
  report,
  samples,
  peakMemoryMb,
  recoverySeconds,
  processorShare,
}: Measurement): string {
  const { opened, closed, failed, sentBytes, receivedBytes, answers } = report;
  const times = Object.entries(samples).map(([name, own]) => {
    return `${name} p50 ${percentile(own, 0.5).toFixed(1)} p99 ${percentile(own, 0.99).toFixed(1)} max ${percentile(own, 1).toFixed(1)} ms`;
  });
  const traffic = `opened ${opened}, closed ${closed}, failed ${failed}, sent ${sentBytes}, received ${receivedBytes}, answers ${JSON.stringify(answers)}`;
  return [
    ...times,
    `processor ${processorShare.toFixed(2)}`,
    `memory ${Math.round(peakMemoryMb)} MB`,
    `idle after ${recoverySeconds.toFixed(1)} s`,
    traffic,
  ].join('; ');
}
