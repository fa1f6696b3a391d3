import { runAgent } from '../../src/delivery/agents/agent.ts';
import { linkTo } from '../../src/delivery/agents/service-link.ts';
import type { ApiResponse, Client } from '../harness/client.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import type { FolderServer } from './folder-driver.ts';

export const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';

/** A service with one name server, and requests of the name server's agent. */
export interface AgentRequests {
  readonly service: TestService;
  /** A client with the token of the agent. */
  readonly agent: Client;
  /** The token of the agent. */
  readonly token: string;
  /** The id of the name server. */
  readonly id: string;
  /** Creates a key for the pool of the name server, and returns its id. */
  createKey(name: string, members?: object): Promise<string>;
  desired(etag?: string, wait?: number, name?: string): Promise<ApiResponse>;
  /**
   * Answers that the name server has all keys of a response to `desired`. `members` overrides
   * members of the answer.
   */
  observe(response: ApiResponse, members?: object): Promise<ApiResponse>;
  /** Renews the lease of the pass that a response to `desired` began. */
  renew(response: ApiResponse, members?: object): Promise<ApiResponse>;
  /** Returns the name server from the API. */
  shown(): Promise<ApiResponse['body']>;
}

/** Starts a service with one name server, and returns the requests of its agent. */
export async function startAgentRequests(): Promise<AgentRequests> {
  const service = await startTestService();
  const created = async (path: string, body: object): Promise<ApiResponse['body']> => {
    const response = await service.post(path, body);
    if (response.status >= 300) throw new Error(response.text);
    return response.body;
  };
  const server = { name: 'ns1', pool_id: POOL, driver: 'bind', address: '192.0.2.53' };
  const id = String((await created('/v2/nameservers', { ...server, delivery: 'agent' })).id);
  const members = { name: 'agent', roles: ['nameserver-agent'], nameservers: [id] };
  const token = String((await created('/v2/tokens', members)).token);
  const agent = service.with(token);
  const key = { algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL };
  const path = `/v2/nameservers/${id}`;
  return {
    service,
    agent,
    token,
    id,
    createKey: async (name, more = {}) =>
      String((await created('/v2/tsigkeys', { name, ...key, ...more })).id),
    desired: (etag, wait = 0, name = 'host-1') =>
      agent.get(
        `${path}/desired?agent=${name}&wait=${wait}`,
        etag === undefined ? {} : { 'if-none-match': etag },
      ),
    observe: (response, more = {}) =>
      agent.call('PUT', `${path}/observed`, { ...answerTo(response), ...more }),
    renew: ({ body }, more = {}) =>
      agent.call('PUT', `${path}/lease`, { agent: 'host-1', fence: body.fence, ...more }),
    shown: async () => (await service.get(path)).body,
  };
}

/** Returns the answer that a name server behaves as a response to `desired` expects. */
export function answerTo({ body }: ApiResponse): object {
  const { accepted } = body as { accepted: string[] };
  return {
    agent: 'host-1',
    fence: body.fence,
    error: null,
    not_begun: [],
    stamp: body.stamps[0],
    is_foreign: false,
    changed: true,
    found_drift: false,
    problems: [],
    differences: [],
    verified: accepted.length,
    verdicts: [],
    open: null,
    unknown_keys: null,
    duration_ms: 10,
  };
}

/**
 * Runs the agent of the name server `ns1`, whose token is in `tokenFile`. Returns a function that
 * stops it. `log` receives each line of its log.
 */
export function startAgent(
  url: string,
  tokenFile: string,
  server: FolderServer,
  agent = 'host-1',
  log: (line: string) => void = () => undefined,
): () => Promise<void> {
  const stopping = new AbortController();
  const note = (fields: object) => log(JSON.stringify(fields));
  const running = runAgent({
    link: linkTo({ url, ca: undefined, tokenFile, agent }),
    agent,
    nameServer: 'ns1',
    driver: 'bind',
    createDriver: () => server.driver,
    verify: server.verify,
    signal: stopping.signal,
    random: () => 0.1,
    log: { info: note, warn: note, error: note },
  });
  return () => {
    stopping.abort();
    return running;
  };
}
