import { readState, type StateHead } from '../../domain/delivery/agent-pass.ts';
import type { DesiredForAgent, ObservedByAgent } from '../../domain/delivery/agent-protocol.ts';
import { isObject } from '../../domain/model/field.ts';
import { deadlineAfter, type Deadline } from '../../net/deadline.ts';
import { NetError } from '../../net/faults.ts';
import { readWholeFile } from '../../net/files.ts';
import { createHttpClient, parseJson, type HttpResponse } from '../../net/http.ts';

/** How long a request waits for a change, in seconds. */
export const WAIT_SECONDS = 30;

/** How long a request may take, in addition to the time that it waits. */
const REQUEST_SECONDS = 20;

/** How long a request to renew a lease may take. Must be shorter than the lease. */
const RENEW_SECONDS = 5;

/** The maximum size of a response: 1 kB for each of 64,000 keys. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** The error for a request that the service refuses. */
export class RefusedError extends Error {
  readonly status: number;
  /** The state that the agent cannot use. Undefined if the error has another reason. */
  readonly head: StateHead | DesiredForAgent | undefined;

  constructor(status: number, message: string, head?: StateHead | DesiredForAgent) {
    super(message);
    this.name = 'RefusedError';
    this.status = status;
    this.head = head;
  }
}

/** The service to connect to, and the identity of the agent. */
export interface LinkSettings {
  readonly url: string;
  /** The CA certificates in PEM. Absent to trust the CAs of Node.js. */
  readonly ca: string | undefined;
  /** Each request reads this file, so that an operator can replace the token. */
  readonly tokenFile: string;
  /** The name of the agent. */
  readonly agent: string;
}

/**
 * The functions that send an agent's requests to the service. They throw `RefusedError` if the
 * service refuses the request. They throw `NetError` if the service does not respond or is not
 * available.
 */
export interface ServiceLink {
  /** Returns the id of the name server to which the token is limited. */
  nameServerId(signal: AbortSignal): Promise<string>;
  /**
   * Waits for a change after the state with this entity tag. Returns undefined if there is none.
   */
  desired(
    id: string,
    etag: string | undefined,
    signal: AbortSignal,
  ): Promise<DesiredForAgent | undefined>;
  observed(id: string, report: ObservedByAgent): Promise<void>;
  /** Extends the lease of a pass. Returns the number of changes that wait. */
  renew(id: string, fence: number): Promise<number>;
  /** Closes the connections. */
  close(): void;
}

/** Returns the functions that send an agent's requests to the service. */
export function linkTo({ url, ca, tokenFile, agent }: LinkSettings): ServiceLink {
  const client = createHttpClient({
    trust: { ca },
    maxResponseBytes: MAX_RESPONSE_BYTES,
    attempts: 1,
    maxConnections: 4,
  });
  const base = url.replace(/\/+$/, '');
  const send = async (
    method: string,
    path: string,
    deadline: Deadline,
    more: { readonly etag?: string | undefined; readonly body?: object } = {},
  ): Promise<HttpResponse> => {
    const { etag, body } = more;
    const headers = {
      'x-auth-token': readWholeFile(tokenFile).toString().trim(),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(etag === undefined ? {} : { 'if-none-match': etag }),
    };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await client.send({ method, url: base + path, headers, ...sent }, deadline);
    const { status } = response;
    if (status === 200 || status === 304) return response;
    if (status >= 500 || status === 429) throw new NetError({ reason: messageOf(response) });
    throw new RefusedError(status, messageOf(response));
  };
  return {
    async nameServerId(signal) {
      const { text } = await send('GET', '/v2/whoami', deadlineAfter(REQUEST_SECONDS, signal));
      const caller = parseJson(text);
      const ids: unknown = isObject(caller) ? caller.nameservers : undefined;
      if (isList(ids) && typeof ids[0] === 'string' && ids.length === 1) return ids[0];
      throw new RefusedError(
        403,
        'The token is not limited to one name server. Create one with: tsigil token create --role nameserver-agent --nameserver NAME',
      );
    },
    async desired(id, etag, signal) {
      const { status, text } = await send(
        'GET',
        `/v2/nameservers/${id}/desired?agent=${encodeURIComponent(agent)}&wait=${WAIT_SECONDS}`,
        deadlineAfter(WAIT_SECONDS + REQUEST_SECONDS, signal),
        { etag },
      );
      if (status === 304) return undefined;
      const read = readState(parseJson(text));
      if ('state' in read) return read.state;
      throw new RefusedError(status, read.problem, read.head);
    },
    async observed(id, report) {
      const deadline = deadlineAfter(REQUEST_SECONDS);
      await send('PUT', `/v2/nameservers/${id}/observed`, deadline, { body: report });
    },
    async renew(id, fence) {
      const deadline = deadlineAfter(RENEW_SECONDS);
      const { text } = await send('PUT', `/v2/nameservers/${id}/lease`, deadline, {
        body: { agent, fence },
      });
      const renewed = parseJson(text);
      return isObject(renewed) ? Number(renewed.changes) : 0;
    },
    close: () => client.close(),
  };
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function messageOf({ status, text }: HttpResponse): string {
  const body = parseJson(text);
  return isObject(body) && typeof body.message === 'string'
    ? body.message
    : `the service responded with status ${status}`;
}
