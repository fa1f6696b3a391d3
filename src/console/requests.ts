import { signal } from '@preact/signals';
import { SERVICE } from './router.ts';

/** A problem with a member of a request. */
interface Problem {
  readonly path: readonly string[];
  readonly message: string;
}

/** Why a request failed. */
export class RequestError extends Error {
  /** 0 if no response came. */
  readonly status: number = 0;
  /** The `type` of the error, or `network` if no response came. */
  readonly type: string = 'network';
  readonly requestId: string | undefined;
  readonly problems: readonly Problem[] = [];
  readonly retryAfterSeconds: number | undefined;
  /** The whole response, if it is JSON. */
  readonly body: object = {};

  constructor(message: string, details: Partial<RequestError> = {}) {
    super(message);
    Object.assign(this, details);
  }
}

export interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  /** Whether no person caused the request, so that it does not extend the session. */
  readonly isBackground?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

interface Answer<T> {
  readonly body: T;
  readonly headers: Headers;
}

/** When a request of a person last succeeded, in milliseconds. The session is idle since then. */
export const lastUse = signal(Date.now());

/** Counts the changes by this page. What is on screen is read again after each. */
export const changes = signal(0);

/** The requests with a body that only read. */
const READS = /\/(?:states|check|reveal)$/;

/** Counts the refusals of requests because the session has ended. */
export const refusals = signal(0);

/** Says whether the person has signed in again for a request that waits for it, if one does. */
export const confirmation = signal<((isConfirmed: boolean) => void) | undefined>(undefined);

/** The answer that requests wait for. */
let confirmed: Promise<boolean> | undefined;

/** Asks the person to sign in again, and returns whether that has happened. */
function confirm(): Promise<boolean> {
  confirmed ??= new Promise<boolean>((resolve) => (confirmation.value = resolve)).finally(() => {
    confirmed = undefined;
    confirmation.value = undefined;
  });
  return confirmed;
}

/** Sends a request to the service. `path` begins with `v2/` or `console/`. */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<Answer<T>> {
  const { method = 'GET', body, isBackground = false, signal: abort } = options;
  const headers = new Headers(options.headers);
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  if (isBackground) headers.set('X-Tsigil-Background', '1');
  let response, text;
  try {
    response = await fetch(SERVICE + path, {
      method,
      headers,
      cache: 'no-store',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(abort === undefined ? {} : { signal: abort }),
    });
    text = await response.text();
  } catch (error) {
    if (abort?.aborted === true) throw error;
    throw new RequestError('The service cannot be reached.');
  }
  if (!response.ok) {
    const error = errorOf(response, text, path);
    if (error.type === 'sign_in_again' && (await confirm())) return request(path, options);
    throw error;
  }
  if (!isBackground) lastUse.value = Date.now();
  if (method !== 'GET' && !READS.test(path)) changes.value += 1;
  const isJson = /\bjson\b/.test(response.headers.get('Content-Type') ?? ''); // not x-ndjson
  return { body: (isJson ? JSON.parse(text) : text) as T, headers: response.headers };
}

/** Sends a request, and returns the body of the response. */
export async function get<T>(path: string, options: RequestOptions = {}): Promise<T> {
  return (await request<T>(path, options)).body;
}

/** Sends a change, and returns the body of the response. */
export function send<T>(
  path: string,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<T> {
  return get<T>(path, { method, headers, ...(body === undefined ? {} : { body }) });
}

interface ErrorBody {
  readonly type?: string;
  readonly message?: string;
  readonly request_id?: string;
  readonly errors?: { readonly errors?: readonly Problem[] };
}

function errorOf(response: Response, text: string, path: string): RequestError {
  let body: ErrorBody = {};
  try {
    body = JSON.parse(text) as ErrorBody;
  } catch {
    // Not the service, but a proxy in front of it.
  }
  const { type = 'unknown', message = `The service responded with ${response.status}.` } = body;
  if (response.status === 401 && type === 'unauthorized' && path !== 'console/session')
    refusals.value += 1;
  const wait = Number(response.headers.get('Retry-After') ?? NaN);
  return new RequestError(message, {
    status: response.status,
    type,
    requestId: body.request_id ?? response.headers.get('X-Openstack-Request-Id') ?? undefined,
    problems: body.errors?.errors ?? [],
    retryAfterSeconds: Number.isNaN(wait) ? undefined : wait,
    body,
  });
}

/** Returns the error of a failed request. Throws everything else again. */
export function asRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  throw error;
}
