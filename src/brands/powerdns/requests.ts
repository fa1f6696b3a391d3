import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { anyText } from '../../core/field.ts';
import { responseObject } from '../../core/object.ts';
import { signalWithin } from '../../net/deadline.ts';
import { describeFault } from '../../net/faults.ts';
import { createHttpClient, parseJson, type HttpClient, type HttpResponse } from '../../net/http.ts';
import { driverErrors } from '../driver-errors.ts';
import { DriverError, DuplicateKeyError } from '../driver.ts';

/** Allows for a long list of zones. A shared signal can shorten it by up to 1 s. */
const REQUEST_MS = 10_000;

/**
 * The number of attempts for one change, and the milliseconds between them. PowerDNS with SQLite
 * returns 500 if a DNS update or another program changes the database at the same time.
 */
const ATTEMPTS = 20;
const ATTEMPT_MS = 10;

export interface PowerdnsOptions {
  readonly url: string;
  readonly apiKeyFile: string;
  readonly requests: number;
  readonly zoneChanges: number;
}

/** Returns the text of a successful response, or undefined for 404. Throws `DriverError`. */
export type Send = (method: string, path: string, body?: object) => Promise<string | undefined>;

/**
 * Returns the function that begins a pass. That function reads the API key, and returns a function
 * that sends requests until `ending` aborts. Throws `DriverError`.
 */
export function createRequests(options: PowerdnsOptions): (ending: AbortSignal) => Promise<Send> {
  const client = createHttpClient({
    trust: {},
    maxResponseBytes: 256 * 1024 * 1024,
    attempts: 1,
    maxConnections: Math.max(options.requests, options.zoneChanges),
  });
  return async (ending) =>
    requestsOf(client, options, await readApiKey(options.apiKeyFile), ending);
}

function requestsOf(
  client: HttpClient,
  options: PowerdnsOptions,
  apiKey: string,
  ending: AbortSignal,
): Send {
  const base = `${options.url.replace(/\/+$/, '')}/api/v1/servers/localhost`;
  const headers = { 'x-api-key': apiKey };
  const json = { ...headers, 'content-type': 'application/json' };
  const limited = limitedSignals(ending);
  return (method, path, body) => {
    const signal = limited();
    return driverErrors(`The API of PowerDNS at ${options.url}`, signal, async () => {
      const request =
        body === undefined
          ? { method, url: `${base}${path}`, headers }
          : { method, url: `${base}${path}`, headers: json, body: JSON.stringify(body) };
      const sendOnce = () => client.send(request, { seconds: 0, signal });
      let response = await sendOnce();
      for (let attempt = 1; isInterrupted(method, response) && attempt < ATTEMPTS; attempt += 1) {
        await pause(ATTEMPT_MS, undefined, { signal });
        response = await sendOnce();
      }
      const { status, text } = response;
      if (status === 401 || status === 403)
        throw new DriverError(
          'not_permitted',
          'PowerDNS refuses the API key or the address of this machine.',
          'Compare the API key with `api-key` of PowerDNS, and check `webserver-allow-from`.',
        );
      if (status === 404 && method !== 'POST') return undefined;
      if (status < 200 || status > 299) {
        const Refusal = status === 409 ? DuplicateKeyError : DriverError;
        throw new Refusal(
          'refused_by_server',
          `PowerDNS refused ${method} ${path}: ${status} ${errorOf(text)}.`,
          'Read the log of PowerDNS.',
        );
      }
      return text;
    });
  };
}

/** A repeated POST could conflict with what the first POST created. */
function isInterrupted(method: string, { status }: HttpResponse): boolean {
  return status === 500 && method !== 'POST';
}

/**
 * Requests that begin within a second share a signal, because creating thousands of signals takes
 * as long as the requests.
 */
function limitedSignals(ending: AbortSignal): () => AbortSignal {
  let latest: { readonly signal: AbortSignal; readonly since: number } | undefined;
  return () => {
    const now = performance.now();
    if (latest === undefined || now - latest.since > 1000)
      latest = { signal: signalWithin(REQUEST_MS, ending), since: now };
    return latest.signal;
  };
}

export async function readApiKey(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new DriverError(
      'not_permitted',
      `The file with the API key cannot be read: ${describeFault(cause)}.`,
      'Let the user of this process read the file.',
      cause,
    );
  }
}

/** Returns the reason in an error response, on one line. */
function errorOf(text: string): string {
  const parsed = responseObject({ error: anyText() }).parse(parseJson(text));
  return 'value' in parsed ? parsed.value.error.replaceAll(/\s+/g, ' ') : '';
}
