import { setTimeout as pause } from 'node:timers/promises';
import { temporaryFolder } from '../harness/service.ts';
import { runAttack, type AttackReport } from './attack.ts';
import { startBystander, startFloor, type Probe, type Sample } from './bystander.ts';
import type { Scenario, Target } from './scenario.ts';
import {
  countDescriptors,
  cpuMilliseconds,
  peakMemoryMb,
  processorTimes,
  startAttackedService,
  type AttackedService,
} from './service.ts';

/** The effect of an attack on a service and on another caller. */
export interface Measurement {
  readonly report: AttackReport;
  /** The requests of the other caller, by probe. */
  readonly samples: Readonly<Record<string, readonly Sample[]>>;
  readonly beganAt: number;
  /**
   * The share of its busy time in which the service had a CPU, from 0.25 to 1. The share is below 1
   * if other programs used the CPU.
   */
  readonly processorShare: number;
  readonly peakMemoryMb: number;
  /** Descriptions of everything that was not idle `RECOVERY_SECONDS` after the attack. */
  readonly remains: readonly string[];
  /** The time in seconds after the attack until everything was idle. */
  readonly recoverySeconds: number;
  /** Violated bounds that the scenario itself checks, and errors in the log of the service. */
  readonly problems: readonly string[];
}

/** The time in seconds after an attack within which everything must be idle. */
const RECOVERY_SECONDS = 10;

/** The minimum of `processorShare`, however busy the machine is. */
const LEAST_SHARE = 0.25;

/** A service is idle below this share of one CPU. */
const IDLE_SHARE = 0.1;

/** The time in milliseconds for which the other caller sends requests before the attack begins. */
const HEAD_START_MS = 300;

/**
 * The number of requests for each path before the attack. After these requests, Node.js has
 * compiled the code.
 */
const WARM_UP_ROUNDS = 10;

const NEW_CONNECTION = { connection: 'close' };

/**
 * Starts a service and attacks it as `scenario` describes, while another caller sends requests.
 * Measures the effect.
 */
export async function measure(scenario: Scenario): Promise<Measurement> {
  const folder = temporaryFolder();
  const variables = { ...scenario.variables, ...(await scenario.prepare?.(folder)) };
  const service = await startAttackedService({ ...scenario, variables }, folder);
  const floor = await startFloor();
  const ended = async () => {
    floor.stop();
    const { code, faults } = await service.stop();
    return code === 0 ? faults : [`exit code ${code}`, ...faults];
  };
  let measured;
  try {
    measured = await attackAndWatch(scenario, service, floor.url);
  } catch (error) {
    await ended();
    throw error;
  }
  return { ...measured, problems: [...measured.problems, ...(await ended())] };
}

async function attackAndWatch(
  scenario: Scenario,
  service: AttackedService,
  floorUrl: string,
): Promise<Measurement> {
  const probes = await probesOf(scenario, service, floorUrl);
  const attack = await scenario.attack(targetOf(service));
  await warmUp(service);
  const before = countDescriptors(service.pid) + (scenario.pooledConnections ?? 0);
  const bystander = startBystander(probes);
  await pause(HEAD_START_MS);
  const beganAt = Date.now();
  const began = processorTimes(service.pid);
  const report = await runAttack(service.url, attack);
  const endedAt = performance.now();
  const samples = await bystander.stop();
  const ended = processorTimes(service.pid);
  const [ran, waited] = [ended.ran - began.ran, ended.waited - began.waited];
  const processorShare = ran > 0 ? Math.max(ran / (ran + waited), LEAST_SHARE) : 1;
  const problems = (await scenario.problems?.(report, service)) ?? [];
  let remains = await unrest(service, before);
  const deadline = endedAt + (RECOVERY_SECONDS * 1000) / processorShare;
  while (remains.length > 0 && service.isRunning() && performance.now() < deadline)
    remains = await unrest(service, before);
  const recoverySeconds = (performance.now() - endedAt) / 1000;
  const peak = service.isRunning() ? peakMemoryMb(service.pid) : Infinity;
  return {
    report,
    samples,
    beganAt,
    processorShare,
    problems,
    peakMemoryMb: peak,
    remains,
    recoverySeconds,
  };
}

function targetOf(service: AttackedService): Target {
  let count = 0;
  return {
    service,
    async token(role, projectId) {
      const body = {
        name: `attacker-${(count += 1)}`,
        roles: [role],
        project_id: projectId ?? null,
      };
      const {
        status,
        text,
        body: created,
      } = await service.post('/v2/tokens', body, NEW_CONNECTION);
      if (status !== 201) throw new Error(`No token for the attacker: ${text}`);
      return created.token;
    },
  };
}

/**
 * Creates a token for the other caller, and returns the caller's requests: reads, health checks
 * and, if the scenario requires writes, creations.
 */
async function probesOf(
  scenario: Scenario,
  service: AttackedService,
  floorUrl: string,
): Promise<Probe[]> {
  const { body: tld } = await service.post('/v2/tlds', { name: 'bystander' }, NEW_CONNECTION);
  const { body: created } = await service.post(
    '/v2/tokens',
    { name: 'bystander', roles: ['admin'] },
    NEW_CONNECTION,
  );
  const headers = { 'x-auth-token': created.token as string };
  const newConnections = scenario.servedAgainWithinSeconds !== undefined;
  const common = {
    method: 'GET',
    headers: {},
    timeoutSeconds: newConnections ? 1 : 10,
    newConnections,
  };
  const write = { 'content-type': 'application/json', ...headers };
  return [
    { ...common, name: 'get', url: `${service.url}/v2/tlds/${tld.id}`, headers, perSecond: 20 },
    { ...common, name: 'healthcheck', url: `${service.url}/healthcheck`, perSecond: 10 },
    { ...common, name: 'floor', url: floorUrl, perSecond: 20 },
    ...(scenario.writes === true
      ? [
          {
            ...common,
            name: 'write',
            method: 'POST',
            url: `${service.url}/v2/tlds`,
            headers: write,
            body: '{"name":"bystander-{number}"}',
            perSecond: 5,
          },
        ]
      : []),
  ];
}

/**
 * Makes the service do its one-time work before the attack: render documents and open database
 * connections.
 */
async function warmUp(service: AttackedService): Promise<void> {
  const paths = [
    '/docs',
    '/openapi.json',
    '/metrics',
    '/unknown',
    '/v2/tlds',
    '/v2/tlds?description=*warm*',
    '/v2/zones?name=*warm*',
  ];
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    await Promise.all(paths.map((path) => service.get(path, NEW_CONNECTION)));
  }
}

/** Returns descriptions of what is not idle in a service. */
async function unrest(service: AttackedService, descriptorsBefore: number): Promise<string[]> {
  if (!service.isRunning()) return ['the service has ended'];
  const [cpuBefore, began] = [cpuMilliseconds(service.pid), performance.now()];
  await pause(300);
  const share = (cpuMilliseconds(service.pid) - cpuBefore) / (performance.now() - began);
  const descriptors = countDescriptors(service.pid);
  const sent = performance.now();
  const status = await fetch(`${service.url}/healthcheck`, {
    headers: NEW_CONNECTION,
    signal: AbortSignal.timeout(1000),
  }).then(
    (answer) => answer.status,
    (error: unknown) => String(error),
  );
  const milliseconds = performance.now() - sent;
  return [
    ...(share > IDLE_SHARE ? [`${Math.round(share * 100)} % of a processor in use`] : []),
    ...(descriptors > descriptorsBefore
      ? [`${descriptors} descriptors open, ${descriptorsBefore} before`]
      : []),
    ...(status !== 200 || milliseconds > 250
      ? [`a new connection was answered with ${status} after ${Math.round(milliseconds)} ms`]
      : []),
  ];
}
