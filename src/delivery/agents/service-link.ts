import { AGENT_FORMAT, JOB, type Answer, type Job } from '../agent-protocol.ts';
import { integer, isObject } from '../../core/field.ts';
import { responseObject } from '../../core/object.ts';
import { deadlineAfter, type Deadline } from '../../net/deadline.ts';
import { NetError } from '../../net/faults.ts';
import { readWholeFile } from '../../net/files.ts';
import { createHttpClient, parseJson, type HttpResponse } from '../../net/http.ts';

/** How long a request waits for a change, in seconds. */
const WAIT_SECONDS = 30;

/** How long a request may take, in addition to the time that it waits. */
const REQUEST_SECONDS = 20;

/** How long a request to renew a lease may take. Must be shorter than the lease. */
const RENEW_SECONDS = 5;

/** The maximum size of a response: 1 kB for each of 64,000 keys. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

export class RefusedError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'RefusedError';
    this.status = status;
  }
}

export interface LinkSettings {
  readonly url: string;
  /** The CA certificates in PEM. Absent to trust the CAs of Node.js. */
  readonly ca: string | undefined;
  /** Each request reads this file, so that an operator can replace the token. */
  readonly tokenFile: string;
  readonly agent: string;
}

/** Throws `RefusedError`, or `NetError` if the service does not respond or is not available. */
export interface ServiceLink {
  /** Returns the id of the name server to which the token is limited. */
  nameServerId(signal: AbortSignal): Promise<string>;
  /**
   * Waits for the next job after the state with this tag. Returns undefined if there is none,
   * and the number of the pass if the agent cannot use the job.
   */
  desired(id: string, tag: string | undefined, signal: AbortSignal): Promise<GivenJob | undefined>;
  observed(id: string, answer: Answer): Promise<void>;
  /** Extends the lease of a pass. Returns the number of changes that wait. */
  renew(id: string, fence: number): Promise<number>;
  close(): void;
}

type GivenJob = { readonly job: Job } | { readonly problem: string; readonly fence: number };

/** Reads a job. Throws `RefusedError` if the response has not even the number of a pass. */
function readJob(value: unknown, status: number): GivenJob {
  const head = HEAD.parse(value);
  if ('problem' in head)
    throw new RefusedError(status, `The response of the service ${head.problem}`);
  const { fence, format } = head.value;
  if (format !== AGENT_FORMAT) {
    const problem = `The service uses format ${format}, but this agent uses format ${AGENT_FORMAT}. Install the service's version of Tsigil on this host`;
    return { problem, fence };
  }
  const parsed = JOB.parse(value);
  return 'value' in parsed
    ? { job: parsed.value }
    : { problem: `The response of the service ${parsed.problem}`, fence };
}

/** The members of a job in every format. */
const HEAD = responseObject({ format: integer(1), fence: integer(0) });

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
    more: { readonly tag?: string | undefined; readonly body?: object } = {},
  ): Promise<HttpResponse> => {
    const { tag, body } = more;
    const headers = {
      'x-auth-token': readWholeFile(tokenFile).toString().trim(),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(tag === undefined ? {} : { 'if-none-match': `"${tag}"` }),
    };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await client.send({ method, url: base + path, headers, ...sent }, deadline);
    const { status } = response;
    if (status === 200 || status === 304) return response;
    if (status >= 500 || status === 429) throw new NetError(messageOf(response));
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
    async desired(id, tag, signal) {
      const { status, text } = await send(
        'GET',
        `/v2/nameservers/${id}/desired?agent=${encodeURIComponent(agent)}&wait=${WAIT_SECONDS}`,
        deadlineAfter(WAIT_SECONDS + REQUEST_SECONDS, signal),
        { tag },
      );
      if (status === 304) return undefined;
      return readJob(parseJson(text), status);
    },
    async observed(id, answer) {
      const deadline = deadlineAfter(REQUEST_SECONDS);
      await send('PUT', `/v2/nameservers/${id}/observed`, deadline, { body: answer });
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
