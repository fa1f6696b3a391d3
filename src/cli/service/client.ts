import { isObject, type Kind } from '../../core/field.ts';
import { NetError } from '../../net/faults.ts';
import { parseJson, type HttpRequest, type HttpResponse, type Trust } from '../../net/http.ts';
import { CommandError, EXIT, type MemberProblem } from '../output/command-error.ts';
import { reach, type Server } from './send-request.ts';

export interface Connection {
  /** The URL without a final slash and without `/v2`. */
  readonly url: string;
  readonly token: string;
  readonly trust?: Trust;
  readonly headers?: Readonly<Record<string, string>>;
  /** The name of the stored profile that provides the token. */
  readonly profile?: string;
  /** Receives each warning of the service about an accepted request. */
  warn?(message: string): void;
}

export const OTHER_PROGRAM =
  'Check the URL in --url or TSIGIL_URL: another program may have responded.';

type Content = Readonly<Record<string, unknown>>;

/** A request to a service, whose `path` begins with `/v2`. */
type Request = readonly [connection: Connection, method: string, path: string, body?: object];

/**
 * Sends a request and returns the JSON body of the response, empty for 204. This function and those
 * below throw `CommandError` unless the status is 2xx and the body is valid.
 */
export async function call(...request: Request): Promise<Content> {
  return (await callWithHeaders(...request)).content;
}

export async function callFor<T>(kind: Kind<T>, ...request: Request): Promise<T> {
  return valueOf(kind, request[0], await call(...request));
}

/** Sends a GET request like `callFor`, and also returns the entity tag of the response. */
export async function callForTagged<T>(
  kind: Kind<T>,
  connection: Connection,
  path: string,
): Promise<{ readonly value: T; readonly tag: string | undefined }> {
  const { content, header } = await callWithHeaders(connection, 'GET', path);
  return { value: valueOf(kind, connection, content), tag: header('etag') };
}

function valueOf<T>(kind: Kind<T>, { url }: Connection, body: unknown): T {
  const parsed = kind.parse(body);
  if ('value' in parsed) return parsed.value;
  throw new CommandError(
    EXIT.refused,
    `Unexpected response from '${url}': the body ${parsed.problem}`,
    OTHER_PROGRAM,
  );
}

async function callWithHeaders(...request: Request) {
  const [connection] = request;
  const response = await reach(serverOf(connection), (client, deadline) =>
    client.send(requestOf('application/json', ...request), deadline),
  );
  const { status, text, header } = response;
  const content = parseBody(text);
  if (status < 200 || status >= 300 || content === undefined)
    throw refusal(connection.url, response, content);
  for (const message of warningsOf(response)) connection.warn?.(message);
  return { content, header };
}

/** Sends a GET request, and yields the JSON lines of the response as values of `kind`, in parts. */
export async function* callForLines<T>(
  kind: Kind<T>,
  connection: Connection,
  path: string,
): AsyncGenerator<readonly T[]> {
  const { url } = connection;
  const request = requestOf('application/x-ndjson', connection, 'GET', path);
  const response = await reach(serverOf(connection), (client, deadline) =>
    client.open(request, deadline),
  );
  if (response.status !== 200) {
    const text = await response.text();
    throw refusal(url, { ...response, text }, parseBody(text));
  }
  try {
    for await (const lines of response.lines())
      yield lines.map((line) => valueOf(kind, connection, parseJson(line)));
  } catch (cause) {
    if (!(cause instanceof NetError)) throw cause;
    const { message: reason, hint } = cause.fault;
    const message = `The response of '${url}' is incomplete: ${reason}`;
    throw new CommandError(EXIT.unreachable, message, hint, cause);
  }
}

export async function orIfRefused<T, Other>(
  send: () => Promise<T>,
  statuses: readonly number[],
  otherwise: () => Other,
): Promise<T | Awaited<Other>> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof CommandError && statuses.includes(error.status ?? 0))
      return await otherwise();
    throw error;
  }
}

/**
 * Returns what `read` returns, or undefined if what it reads is hidden or does not exist. Throws
 * `CommandError` if the service cannot be reached.
 */
export async function ifReadable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CommandError && error.exitCode !== EXIT.unreachable) return undefined;
    throw error;
  }
}

function requestOf(
  accept: string,
  ...[{ url, token, headers }, method, path, body]: Request
): HttpRequest {
  return {
    method,
    url: url + path,
    headers: {
      accept,
      'x-auth-token': token,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

function serverOf({ url, trust }: Connection): Server {
  const hint = 'Check that the service is running, or set another URL with --url or TSIGIL_URL.';
  return { name: `'${url}'`, hint, trust };
}

/** Returns the warnings in a response: strings separated by commas (RFC 9651 section 3.1). */
function warningsOf({ header }: HttpResponse): string[] {
  const value = header('tsigil-warning');
  if (value === undefined) return [];
  const parsed = parseJson(`[${value}]`);
  return Array.isArray(parsed) ? parsed.map(String) : [value];
}

function refusal(url: string, response: HttpResponse, content: Content | undefined): CommandError {
  const { status, statusText } = response;
  const message =
    inFlags(messageOf(content)) ?? `Unexpected response from '${url}': ${status} ${statusText}`;
  const requestId = response.header('x-openstack-request-id') ?? content?.request_id;
  const exitCode = exitCodeOf(status, content?.type);
  return new CommandError(
    exitCode,
    `${message}${typeof requestId === 'string' ? ` (request ${requestId})` : ''}`,
    hintFor(url, response, content, exitCode),
    undefined,
    status,
    problemsOf(content),
  );
}

/** What a message of the service says about headers, and what a person at a terminal uses instead. */
const FLAGS: readonly (readonly [inHeaders: string, inFlags: string])[] = [
  ["the header 'Tsigil-Force: true'", '--force'],
  ['. With X-Auth-All-Projects: true, it can be in any project', ''],
  ['X-Auth-Sudo-Project-ID and X-Auth-Sudo-Tenant-ID', '--sudo-project-id'],
];

function inFlags<T extends string | undefined>(message: T): T | string {
  return message === undefined
    ? message
    : FLAGS.reduce<string>((text, [given, flag]) => text.replaceAll(given, flag), message);
}

/** The status for missing rights is a setting of the service: 401 or 403. */
function exitCodeOf(status: number, type: unknown): number {
  if (status === 401) return type === 'access_denied' ? EXIT.denied : EXIT.unreachable;
  // Other types of 403 concern the requested resource, not the rights of the caller.
  if (status === 403 && (type === 'forbidden' || type === 'outside_limits')) return EXIT.denied;
  return status === 503 ? EXIT.unreachable : EXIT.refused;
}

/** Returns what to do about a refusal, unless the message states it. */
function hintFor(
  url: string,
  { status, header }: HttpResponse,
  content: Content | undefined,
  exitCode: number,
): string | undefined {
  if (content?.type === 'missing_project_id')
    return 'Use the token of a project, or select a project with --sudo-project-id.';
  if (content?.type === 'outside_limits') return limitHint(messageOf(content));
  if (exitCode === EXIT.denied)
    return "The token is valid, but its roles do not permit this request. 'tsigil whoami' shows them. An administrator can create another token: tsigil token create NAME --role ROLE";
  if (status === 401)
    return `The token is unknown to '${url}', revoked or expired. Use another token.`;
  if (status === 429) return `Try again in ${header('retry-after') ?? 'a few'} seconds.`;
  if (messageOf(content) === undefined) return OTHER_PROGRAM;
  return undefined;
}

function limitHint(message = ''): string {
  return message.includes('do not include this')
    ? "Use --pool or --zone with a pool or zone of the token: 'tsigil pool list' and 'tsigil zone list' show them."
    : "Run 'tsigil whoami' to see the limits of the token. An administrator can create another one: tsigil token create NAME --role ROLE, with --pool or --zone for limits";
}

/** Returns undefined for a response from another program, such as a proxy. */
function parseBody(text: string): Content | undefined {
  if (text === '') return {};
  const content = parseJson(text);
  return isObject(content) ? content : undefined;
}

function problemsOf(content: Content | undefined): MemberProblem[] {
  const listed = isObject(content?.errors) ? content.errors.errors : undefined;
  if (!Array.isArray(listed)) return [];
  return listed
    .filter(
      (each): each is MemberProblem =>
        isObject(each) && Array.isArray(each.path) && typeof each.message === 'string',
    )
    .map((each) => ({ ...each, message: inFlags(each.message) }));
}

function messageOf(content: Content | undefined): string | undefined {
  const nested = isObject(content?.error) ? content.error.message : undefined;
  const message = content?.message ?? nested;
  return typeof message === 'string' ? message : undefined;
}
