import { readFile } from 'node:fs/promises';
import { anyText, array, type Kind } from '../../domain/model/field.ts';
import { responseObject } from '../../domain/model/object.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { describeFault } from '../../net/faults.ts';
import { createHttpClient, parseJson } from '../../net/http.ts';
import { driverErrors } from '../control.ts';
import { DriverError } from '../driver.ts';

/**
 * The API of one PowerDNS server. Names are in comparison form. All functions throw `DriverError`.
 */
export interface PowerdnsApi {
  /** Returns the names of all zones. */
  zones(signal: AbortSignal): Promise<readonly string[]>;
  /** Returns the names of all keys. */
  keys(signal: AbortSignal): Promise<readonly string[]>;
  /** Returns a key, or undefined if there is none. */
  key(
    name: string,
    signal: AbortSignal,
  ): Promise<{ readonly algorithm: string; readonly secret: string } | undefined>;
  /** Creates a key, changes its secret, or deletes it. */
  createKey(
    key: { readonly name: string; readonly algorithm: string; readonly secret: string },
    signal: AbortSignal,
  ): Promise<void>;
  changeSecret(name: string, secret: string, signal: AbortSignal): Promise<void>;
  deleteKey(name: string, signal: AbortSignal): Promise<void>;
  /** Returns the keys that may transfer a zone, or undefined if there is no zone. */
  transferKeys(zone: string, signal: AbortSignal): Promise<readonly string[] | undefined>;
  setTransferKeys(zone: string, names: readonly string[], signal: AbortSignal): Promise<void>;
  /** Returns the values of a metadata item of a zone. */
  metadata(zone: string, item: string, signal: AbortSignal): Promise<readonly string[]>;
  setMetadata(
    zone: string,
    item: string,
    values: readonly string[],
    signal: AbortSignal,
  ): Promise<void>;
  /** Returns the settings of the server by name. */
  settings(signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
}

/** The time limit of one request. The list of all zones may be long. */
const REQUEST_MS = 10_000;

/** The options for the API. */
export interface PowerdnsOptions {
  readonly url: string;
  readonly apiKeyFile: string;
  readonly requests: number;
  readonly zoneChanges: number;
}

const MOST = 10_000_000;
const named = array(responseObject({ name: anyText() }), 0, MOST);
const keyKind = responseObject({ algorithm: anyText(), key: anyText() });
const zoneKind = responseObject({ master_tsig_key_ids: array(anyText(), 0, MOST) });
const metadataKind = responseObject({ metadata: array(anyText(), 0, MOST) });
const settingsKind = array(responseObject({ name: anyText(), value: anyText() }), 0, MOST);

/** Returns the API of the server at `options.url`. */
export function createPowerdnsApi(options: PowerdnsOptions): PowerdnsApi {
  const base = `${options.url.replace(/\/+$/, '')}/api/v1/servers/localhost`;
  const client = createHttpClient({
    trust: {},
    maxResponseBytes: 256 * 1024 * 1024,
    attempts: 1,
    maxConnections: Math.max(options.requests, options.zoneChanges),
  });

  /**
   * Sends a request. Returns undefined for 404, and otherwise the body of a successful response.
   */
  const send = (method: string, path: string, ending: AbortSignal, body?: object) => {
    const signal = AbortSignal.any([ending, AbortSignal.timeout(REQUEST_MS)]);
    return driverErrors(`The API of PowerDNS at ${options.url}`, signal, async () => {
      const headers = { 'x-api-key': await readApiKey(options.apiKeyFile) };
      const json = { ...headers, 'content-type': 'application/json' };
      const request =
        body === undefined
          ? { method, url: `${base}${path}`, headers }
          : { method, url: `${base}${path}`, headers: json, body: JSON.stringify(body) };
      const { status, text } = await client.send(request, { seconds: 0, signal });
      if (status === 401 || status === 403)
        throw new DriverError(
          'not_permitted',
          'PowerDNS refuses the API key or the address of this machine.',
          'Compare the API key with `api-key` of PowerDNS, and check `webserver-allow-from`.',
        );
      if (status === 404 && method !== 'POST') return undefined;
      if (status < 200 || status > 299)
        throw new DriverError(
          'refused_by_server',
          `PowerDNS refused ${method} ${path}: ${status} ${errorOf(text)}.`,
          'Read the log of PowerDNS.',
        );
      return { body: parseJson(text) };
    });
  };
  const get = async <T>(kind: Kind<T>, path: string, signal: AbortSignal) => {
    const response = await send('GET', path, signal);
    if (response === undefined) return undefined;
    const parsed = kind.parse(response.body);
    if ('value' in parsed) return parsed.value;
    throw new DriverError(
      'refused_by_server',
      `The response of PowerDNS to GET ${path} ${parsed.problem}.`,
      'Check that the URL is that of the API of PowerDNS 4.7 or later.',
    );
  };
  const names = async (path: string, signal: AbortSignal) =>
    ((await get(named, path, signal)) ?? []).map(({ name }) => comparisonForm(name));
  const zonePath = (zone: string) => `/zones/${encodeURIComponent(`${zone}.`)}`;
  const keyPath = (name: string) => `/tsigkeys/${encodeURIComponent(`${name}.`)}`;

  return {
    zones: (signal) => names('/zones?dnssec=false', signal),
    keys: (signal) => names('/tsigkeys', signal),
    async key(name, signal) {
      const found = await get(keyKind, keyPath(name), signal);
      return found === undefined
        ? undefined
        : { algorithm: comparisonForm(found.algorithm), secret: found.key };
    },
    async createKey({ name, algorithm, secret }, signal) {
      await send('POST', '/tsigkeys', signal, { name: `${name}.`, algorithm, key: secret });
    },
    async changeSecret(name, secret, signal) {
      await send('PUT', keyPath(name), signal, { key: secret });
    },
    async deleteKey(name, signal) {
      await send('DELETE', keyPath(name), signal);
    },
    async transferKeys(zone, signal) {
      const found = await get(zoneKind, `${zonePath(zone)}?rrsets=false`, signal);
      return found?.master_tsig_key_ids.map(comparisonForm);
    },
    async setTransferKeys(zone, list, signal) {
      const body = { master_tsig_key_ids: list.map((name) => `${name}.`) };
      await send('PUT', zonePath(zone), signal, body);
    },
    async metadata(zone, item, signal) {
      const found = await get(metadataKind, `${zonePath(zone)}/metadata/${item}`, signal);
      return found?.metadata ?? [];
    },
    async setMetadata(zone, item, metadata, signal) {
      const path = `${zonePath(zone)}/metadata/${item}`;
      if (metadata.length === 0) await send('DELETE', path, signal);
      else await send('PUT', path, signal, { metadata });
    },
    async settings(signal) {
      const found = (await get(settingsKind, '/config', signal)) ?? [];
      return new Map(found.map(({ name, value }) => [name, value]));
    },
  };
}

async function readApiKey(file: string): Promise<string> {
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
