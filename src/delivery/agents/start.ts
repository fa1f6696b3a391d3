import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { readWholeFile } from '../../net/files.ts';
import { faultOf } from '../../net/faults.ts';
import { DRIVERS } from '../../brands/drivers.ts';
import type { Driver, Requirement } from '../../brands/driver.ts';
import type { DeliveryLog } from '../reconciler/log.ts';
import type { LogReaderOf } from '../log-protocol.ts';
import { localProblems } from '../reconciler/registration.ts';
import { verifyByQueries } from '../reconciler/verification.ts';
import { runAgent } from './agent.ts';
import { linkTo, type ServiceLink } from './service-link.ts';

/** The maximum length of the name of an agent. */
const MAX_NAME = 64;

/** The time limit for checking all requirements. */
const CHECK_MS = 20_000;

export interface AgentSettings {
  readonly url: string;
  readonly caFile?: string;
  readonly tokenFile: string;
  readonly nameServer: string;
  /** The name of the host. Absent to use the host name of the system. */
  readonly agent?: string;
  readonly driver: string;
  readonly local: unknown;
}

export function agentProblems({ caFile, tokenFile, ...settings }: AgentSettings): string[] {
  const { nameServer: name, driver, local } = settings;
  const files = [tokenFile, ...(caFile === undefined ? [] : [caFile])];
  return [
    ...localProblems([{ name, driver, local, address: '' }]).map((problem) =>
      problem.replace(/^'nameServers': /, ''),
    ),
    ...files.flatMap((file) => {
      try {
        return readWholeFile(file).toString().trim() === '' ? [`'${file}' is empty`] : [];
      } catch (error) {
        return [`'${file}' cannot be read: ${faultOf(error).message}`];
      }
    }),
  ];
}

export interface AgentProcess {
  readonly log: DeliveryLog;
  readonly logReaderOf?: LogReaderOf;
  readonly signal: AbortSignal;
}

/** Runs an agent until `signal` aborts. */
export async function startAgent(
  settings: AgentSettings,
  { log, logReaderOf, signal }: AgentProcess,
): Promise<void> {
  const { nameServer, driver } = settings;
  // Each process has another name, so that two agents of one name server do not share a lease.
  const suffix = randomBytes(6).toString('hex');
  const agent = `${hostOf(settings).slice(0, MAX_NAME - suffix.length - 1)}-${suffix}`;
  log.info({ name_server: nameServer, agent, url: settings.url }, 'agent started');
  await runAgent({
    link: linkOf(settings, agent),
    agent,
    nameServer,
    driver,
    log,
    signal,
    createDriver: (id) => driverOf(settings, id),
    logReader: logReaderOf?.(settings),
    verify: verifyByQueries,
    random: Math.random,
  });
  log.info({ name_server: nameServer, agent }, 'agent stopped');
}

/** Throws if the service does not accept the token. */
export async function checkAgent(settings: AgentSettings): Promise<readonly Requirement[]> {
  const signal = AbortSignal.timeout(CHECK_MS);
  const link = linkOf(settings, hostOf(settings));
  try {
    const id = await link.nameServerId(signal);
    return await driverOf(settings, id).check(signal, settings.nameServer);
  } finally {
    link.close();
  }
}

function hostOf({ agent }: AgentSettings): string {
  return (
    agent ??
    hostname()
      .replaceAll(/[^A-Za-z0-9_.-]/g, '-')
      .slice(0, 64)
  );
}

function linkOf(settings: AgentSettings, agent: string): ServiceLink {
  const { url, caFile, tokenFile } = settings;
  const ca = caFile === undefined ? undefined : readWholeFile(caFile).toString();
  return linkTo({ url, ca, tokenFile, agent });
}

function driverOf({ driver, local }: AgentSettings, id: string): Driver {
  const definition = DRIVERS[driver];
  if (definition === undefined) throw new TypeError(`Unknown driver '${driver}'`);
  return definition.create(local, id);
}
