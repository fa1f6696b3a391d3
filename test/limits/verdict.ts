import { expect } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../harness/client.ts';
import { temporaryFolder } from '../harness/service.ts';
import { startAttack, type AttackReport } from './attack.ts';
import type { Scenario, Target } from './scenario.ts';
import {
  countDescriptors,
  peakMemoryMb,
  startAttackedService,
  type AttackedService,
} from './service.ts';

/** The maximum memory of a service under attack. */
const MAX_MEMORY_MB = 512;

/** How many requests of each kind other callers get answered during an attack. */
const ANSWERED = { get: 100, healthcheck: 100, write: 20 } as const;

type Kind = keyof typeof ANSWERED;

/**
 * The number of requests for each path before the attack. After these requests, Node.js has
 * compiled the code, and the service has rendered documents and opened database connections.
 */
const WARM_UP_ROUNDS = 10;

const WARM_UP_PATHS = [
  '/docs',
  '/openapi.json',
  '/metrics',
  '/unknown',
  '/v2/tlds',
  '/v2/tlds?description=*warm*',
  '/v2/zones?name=*warm*',
];

const NEW_CONNECTION = { connection: 'close' };

/**
 * Starts a service and attacks it as `scenario` describes, until other callers have got their
 * answers and the attacker has done enough. Expects that the service answers every request of the
 * other callers as it should, stays within its memory, and frees everything after the attack.
 * `note` receives a text about the attack.
 */
export async function expectBounded(
  scenario: Scenario,
  note: (line: string) => unknown,
): Promise<void> {
  const folder = temporaryFolder();
  const variables = { ...scenario.variables, ...(await scenario.prepare?.(folder)) };
  const service = await startAttackedService({ ...scenario, variables }, folder);
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1)
    await Promise.all(WARM_UP_PATHS.map((path) => service.get(path, NEW_CONNECTION)));
  const before = countDescriptors(service.pid);

  const described = await scenario.attack(targetOf(service));
  const others = await prepareOthers(scenario, service);
  const attack = startAttack(service.url, described);
  const shortest = pause(described.seconds * 1000);
  others.start();
  await expect
    .poll(() => [...others.lacking(), ...lacking(scenario, attack.report())], { interval: 100 })
    .toEqual([]);
  await shortest;
  await attack.stop();
  const problems = [...(await others.stop()), ...faultsOf(attack.report())];

  await expect.poll(() => countDescriptors(service.pid)).toBeLessThanOrEqual(before);
  expect((await service.get('/healthcheck', NEW_CONNECTION)).status).toBe(200);
  const memoryMb = Math.round(peakMemoryMb(service.pid));
  await note(`memory ${memoryMb} MB; ${JSON.stringify(attack.report())}`);
  expect(memoryMb).toBeLessThanOrEqual(MAX_MEMORY_MB);
  expect(await service.stop()).toEqual({ code: 0, faults: [] });
  expect(problems).toEqual([]);
}

function targetOf(service: AttackedService): Target {
  let count = 0;
  return {
    service,
    token: (role, projectId) =>
      createToken(service, `attacker-${(count += 1)}`, role, projectId ?? null),
  };
}

async function createToken(
  service: Client,
  name: string,
  role: string,
  projectId: string | null = null,
): Promise<string> {
  const members = { name, roles: [role], project_id: projectId };
  const { status, text, body } = await service.post('/v2/tokens', members, NEW_CONNECTION);
  if (status !== 201) throw new Error(`No token for ${name}: ${text}`);
  return String(body.token);
}

/** Callers that send one request after the other, each on a new connection, during an attack. */
interface Others {
  start(): void;
  /** Describes the answers that they have not got yet. */
  lacking(): string[];
  /** Stops them. Returns descriptions of the requests that failed. */
  stop(): Promise<string[]>;
}

/** Returns other callers: one reads, one checks the health, and one may write. */
async function prepareOthers(scenario: Scenario, service: AttackedService): Promise<Others> {
  const client = service.with(await createToken(service, 'bystander', 'admin'));
  const { body: tld } = await client.post('/v2/tlds', { name: 'bystander' }, NEW_CONNECTION);
  const answered = { get: 0, healthcheck: 0, write: 0 };
  const failures: string[] = [];
  let isStopped = false;

  const requests = {
    get: () => client.get(`/v2/tlds/${tld.id}`, NEW_CONNECTION),
    healthcheck: () => client.with('').get('/healthcheck', NEW_CONNECTION),
    write: () => client.post('/v2/tlds', { name: `bystander-${answered.write}` }, NEW_CONNECTION),
  };
  const kinds: Kind[] =
    scenario.writes === true ? ['get', 'healthcheck', 'write'] : ['get', 'healthcheck'];
  const repeat = async (kind: Kind) => {
    while (!isStopped) {
      const outcome = await requests[kind]().then(
        ({ status }) => status,
        (error: unknown) => `${String(error)}: ${String((error as Error).cause)}`,
      );
      answered[kind] += 1;
      if (outcome !== (kind === 'write' ? 201 : 200))
        failures.push(`${kind} number ${answered[kind]} got ${outcome}`);
    }
  };
  let running: Promise<void>[] = [];
  return {
    start: () => void (running = kinds.map(repeat)),
    lacking: () =>
      kinds
        .filter((kind) => answered[kind] < ANSWERED[kind])
        .map((kind) => `${kind}: ${answered[kind]} of ${ANSWERED[kind]} answered`),
    async stop() {
      isStopped = true;
      await Promise.all(running);
      return failures;
    },
  };
}

/** Describes what the attacker has not done yet. */
function lacking({ atLeast }: Scenario, report: AttackReport): string[] {
  const count = (statuses: RegExp) =>
    Object.entries(report.answers).reduce(
      (sum, [status, each]) => (statuses.test(status) ? sum + each : sum),
      0,
    );
  const done = { ...report, answers: count(/./), succeeded: count(/^2/) };
  return Object.entries(atLeast)
    .filter(([name, least]) => done[name as keyof typeof atLeast] < least)
    .map(([name, least]) => `attacker: ${name} ${done[name as keyof typeof atLeast]} of ${least}`);
}

function faultsOf({ firstFault }: AttackReport): string[] {
  return firstFault === undefined ? [] : [`the attacker was answered with 500: ${firstFault}`];
}
