import type { Caller } from '../../core/caller.ts';
import type { Fault } from '../../core/fault.ts';
import type { Resource, ResourceType } from '../../core/resource.ts';
import type { ServerState } from '../name-server-status.ts';
import { nameServer, type NameServer } from '../name-server.ts';

/** The live part of the status of a name server. */
export interface ServerStatus {
  /** Whether a process with this name server in its configuration reported in the last 35 s. */
  readonly isServed: boolean;
  /** The time of the oldest pending change, in the timestamp format of the API. */
  readonly pendingSince: string | null;
  /** Whether a pass was requested since the last one ended. */
  readonly isRequested: boolean;
}

export interface ServerStatuses {
  /** Returns the live status of name servers, by their ids. */
  statuses(ids: readonly string[]): Promise<ReadonlyMap<string, ServerStatus>>;
}

const NO_PROCESS: Fault = {
  code: 'no_process',
  message:
    "no running process of the service has this name server in its setting 'nameServers'. Start a process with this name server in its configuration",
};

const NO_AGENT: Fault = {
  code: 'no_agent',
  message:
    'the agent of this name server is not reporting. Start the agent on its host: tsigil agent --config FILE',
};

/** The error of a name server to which nothing delivers. */
export function unservedFault({ delivery }: Pick<NameServer, 'delivery'>): Fault {
  return delivery === 'agent' ? NO_AGENT : NO_PROCESS;
}

/**
 * Returns a name server with its live status. The state is `live` only if no change is pending and
 * a process or an agent serves the name server.
 */
export function withStatus(server: NameServer, status: ServerStatus | undefined): NameServer {
  const { isServed = false, pendingSince = null } = status ?? {};
  const state = stateOf(server, isServed, pendingSince);
  const failure = isServed || server.paused ? undefined : unservedFault(server);
  return {
    ...server,
    state,
    pending_since: pendingSince,
    ...(failure === undefined ? {} : { error_code: failure.code, error: failure.message }),
  };
}

function stateOf(server: NameServer, isServed: boolean, pendingSince: string | null): ServerState {
  if (server.paused) return 'paused';
  if (!isServed) return 'failed';
  // Delivery was resumed, and its first pass has not ended.
  if (server.state === 'held' && server.held === null) return 'pending';
  return server.state === 'live' && pendingSince !== null ? 'pending' : server.state;
}

export function isLive({ collection }: ResourceType): boolean {
  return collection === nameServer.collection;
}

/** What a caller with limits does not see of a name server: it names keys outside the limits. */
export const HIDDEN = { held: null, unknown_keys: [], key_references: null, error: null } as const;

/** Their state depends also on pending changes, and on the process or agent that serves each. */
export async function showLive(
  delivery: ServerStatuses | undefined,
  { limits }: Pick<Caller, 'limits'>,
  resources: Resource[],
): Promise<Resource[]> {
  const statuses = await delivery?.statuses(resources.map(({ id }) => id));
  return resources.map((resource) => ({
    ...(statuses === undefined
      ? resource
      : withStatus(resource as NameServer, statuses.get(resource.id))),
    ...(limits === undefined ? {} : HIDDEN),
  }));
}
