import { readFileSync } from 'node:fs';
import { CommandError, EXIT } from './errors.ts';

/** Where a service is and what to show it. */
export interface Connection {
  readonly url: string;
  readonly token: string;
}

/** How the connection was asked for on the command line. */
export interface ConnectionFlags {
  readonly url?: string;
  readonly tokenFile?: string;
}

/** Where a service with the default configuration listens, and where it leaves its first token. */
const DEFAULT_URL = 'http://127.0.0.1:9001';
const DEFAULT_TOKEN_FILE = 'var/admin.token';
const TIMEOUT_SECONDS = 30;

/**
 * The connection that flags, `TSIGIL_URL` and `TSIGIL_TOKEN` name, or else that of a local service that was started in
 * this folder. Tokens are never arguments: other users of the machine can read those. Throws `CommandError`.
 */
export function findConnection(flags: ConnectionFlags, environment: NodeJS.ProcessEnv): Connection {
  const url = (flags.url ?? (environment.TSIGIL_URL || DEFAULT_URL)).replace(/\/+$/, '');
  if (!/^https?:\/\/[^/@]+(?:\/[^@?#]*)?$/.test(url) || !URL.canParse(url)) {
    throw new CommandError(EXIT.usage, 'The URL of the service must be an http or https URL without user, query or fragment');
  }
  const fromEnvironment = flags.tokenFile === undefined && environment.TSIGIL_TOKEN;
  if (fromEnvironment) return { url, token: checkToken(fromEnvironment, 'TSIGIL_TOKEN') };
  const file = flags.tokenFile ?? DEFAULT_TOKEN_FILE;
  return { url, token: checkToken(readTokenFile(file), file) };
}

function readTokenFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    const hint = 'Set TSIGIL_TOKEN, name a file with --token-file, or run this where the service was started.';
    throw new CommandError(EXIT.unreachable, `No token: ${path} cannot be read`, hint, cause);
  }
}

/** What cannot be a header's value never reaches `fetch`, whose message would show it. */
function checkToken(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new CommandError(EXIT.usage, `${source} does not hold a token: one line of printable ASCII characters without blanks`);
}

/** An answer's JSON body, empty for 204. Throws `CommandError` for every answer that is not a success. */
export async function call(connection: Connection, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await send(connection, method, path, body);
  const text = await answer.text();
  const content = parseBody(text);
  if (answer.ok && content !== undefined) return content;
  const message = messageOf(content) ?? `${connection.url} answered ${answer.status} ${answer.statusText}, not as this service does`;
  const requestId = answer.headers.get('x-openstack-request-id') ?? (content?.request_id as string | undefined);
  const unauthorised = answer.status === 401 || answer.status === 403;
  throw new CommandError(
    unauthorised || answer.status === 503 ? EXIT.unreachable : EXIT.refused,
    `${message}${requestId === undefined ? '' : ` (request ${requestId})`}`,
    unauthorised ? `The token that was sent to ${connection.url} is not valid there, or its roles do not suffice.` : undefined,
  );
}

async function send(connection: Connection, method: string, path: string, body: object | undefined): Promise<Response> {
  const headers = {
    accept: 'application/json',
    'x-auth-token': connection.token,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  try {
    const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    // A redirect is not followed: it would take the token to another server.
    return await fetch(connection.url + path, { method, headers, signal, redirect: 'manual', ...content });
  } catch (cause) {
    const reason = (cause as { cause?: Error }).cause?.message ?? (cause as Error).message;
    const hint = 'Is the service running? Name another with --url or TSIGIL_URL.';
    throw new CommandError(EXIT.unreachable, `${connection.url} cannot be reached: ${reason}`, hint, cause);
  }
}

function parseBody(text: string): Record<string, unknown> | undefined {
  if (text === '') return {};
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined; // not our service, or something between us
  }
}

function messageOf(content: Record<string, unknown> | undefined): string | undefined {
  const nested = content?.error as { message?: unknown } | undefined;
  const message = content?.message ?? nested?.message;
  return typeof message === 'string' ? message : undefined;
}
