import { parseJson, type HttpResponse, type Trust } from '../../net/http.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { exchange } from './exchange.ts';

/** Where a service is and what to show it. */
export interface Connection {
  /** Without a final slash and without `/v2`. */
  readonly url: string;
  /** Undefined for a service that is reached without one. */
  readonly token: string | undefined;
  readonly trust?: Trust;
  /** Sent along with every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Content = Readonly<Record<string, unknown>>;

/** A successful response. */
export interface Success {
  /** The JSON body, empty for 204. */
  readonly content: Record<string, unknown>;
  readonly header: HttpResponse['header'];
}

/** The JSON body of a response, empty for 204. Throws `CommandError` for every response that is not a success. */
export async function call(connection: Connection, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  return (await callWithHeaders(connection, method, path, body)).content;
}

/** The same with the headers of the response. */
export async function callWithHeaders(connection: Connection, method: string, path: string, body?: object): Promise<Success> {
  const { url, token, trust = {}, headers = {} } = connection;
  const request = {
    method,
    url: url + path,
    headers: {
      accept: 'application/json',
      ...(token === undefined ? {} : { 'x-auth-token': token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
  const server = { name: `'${url}'`, hint: 'Is the service running? Name another with --url or TSIGIL_URL.' };
  const answer = await exchange(request, trust, server);
  const content = parseBody(answer.text);
  if (answer.status >= 200 && answer.status < 300 && content !== undefined) return { content, header: answer.header };
  throw refusal(url, answer, content);
}

function refusal(url: string, answer: HttpResponse, content: Content | undefined): CommandError {
  const { status, statusText } = answer;
  const message = messageOf(content) ?? `${url} answered ${status} ${statusText}, not as this service does`;
  const requestId = answer.header('x-openstack-request-id') ?? (content?.request_id as string | undefined);
  // Other answers with 403 are about what was asked for, not about who asks.
  const unauthorised = status === 401 || (status === 403 && content?.type === 'forbidden');
  return new CommandError(
    unauthorised || status === 503 ? EXIT.unreachable : EXIT.refused,
    `${message}${requestId === undefined ? '' : ` (request ${requestId})`}`,
    hintFor(url, answer, content, unauthorised),
    undefined,
    status,
  );
}

/** What to do about a refusal, where there is more to say than its message does. */
function hintFor(url: string, { status, header }: HttpResponse, content: Content | undefined, unauthorised: boolean): string | undefined {
  if (content?.type === 'missing_project_id') return 'Use a token that belongs to a project, or name one with --sudo-project-id.';
  if (unauthorised) return `The token that was sent to ${url} is not valid there, or its roles do not suffice.`;
  if (status === 429) return `Try again in ${header('retry-after') ?? 'a few'} seconds.`;
  return undefined;
}

/** Returns undefined for a response that is not the service's, such as that of a proxy. */
function parseBody(text: string): Record<string, unknown> | undefined {
  if (text === '') return {};
  const content = parseJson(text);
  return typeof content === 'object' ? (content as Record<string, unknown>) : undefined;
}

function messageOf(content: Content | undefined): string | undefined {
  const nested = content?.error as { message?: unknown } | undefined;
  const message = content?.message ?? nested?.message;
  return typeof message === 'string' ? message : undefined;
}
