import { anyText, array, type Kind } from '../../domain/model/field.ts';
import { responseObject } from '../../domain/model/object.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { DriverError } from '../driver.ts';
import { createRequests, type PowerdnsOptions, type Send } from './powerdns-requests.ts';

/**
 * The API of one PowerDNS server, for one pass. Names are in comparison form. All functions throw
 * `DriverError`.
 */
export interface PowerdnsApi {
  zones(): Promise<readonly string[]>;
  keys(): Promise<readonly string[]>;
  key(name: string): Promise<{ readonly algorithm: string; readonly secret: string } | undefined>;
  createKey(key: {
    readonly name: string;
    readonly algorithm: string;
    readonly secret: string;
  }): Promise<void>;
  changeSecret(name: string, secret: string): Promise<void>;
  deleteKey(name: string): Promise<void>;
  /** Returns all metadata of a zone, by kind. Returns undefined if there is no zone. */
  metadata(zone: string): Promise<ReadonlyMap<string, readonly string[]> | undefined>;
  /** Sets the keys that may transfer a zone. Does nothing if there is no zone. */
  setTransferKeys(zone: string, names: readonly string[]): Promise<void>;
  /** Sets one kind of metadata of a zone. Does nothing if there is no zone. */
  setMetadata(zone: string, kind: string, values: readonly string[]): Promise<void>;
  settings(): Promise<ReadonlyMap<string, string>>;
}

const MOST = 10_000_000;
const named = array(responseObject({ name: anyText() }), 0, MOST);
const keyKind = responseObject({ algorithm: anyText(), key: anyText() });
const metadataKind = array(
  responseObject({ kind: anyText(), metadata: array(anyText(), 0, MOST) }),
  0,
  MOST,
);
const settingsKind = array(responseObject({ name: anyText(), value: anyText() }), 0, MOST);

/**
 * Returns the function that opens the API of the server at `options.url` for one pass. That
 * function reads the API key once, and throws `DriverError`. The signal ends all requests of the
 * pass.
 */
export function createPowerdnsApi(
  options: PowerdnsOptions,
): (ending: AbortSignal) => Promise<PowerdnsApi> {
  const begin = createRequests(options);
  return async (ending) => apiOf(await begin(ending));
}

function apiOf(send: Send): PowerdnsApi {
  const get = async <T>(kind: Kind<T>, path: string) => {
    const response = await send('GET', path);
    if (response === undefined) return undefined;
    const parsed = kind.parse(response.body);
    if ('value' in parsed) return parsed.value;
    throw new DriverError(
      'refused_by_server',
      `The response of PowerDNS to GET ${path} ${parsed.problem}.`,
      'Set `url` to the URL of the API of PowerDNS 4.7 or later.',
    );
  };
  const names = async (path: string) =>
    ((await get(named, path)) ?? []).map(({ name }) => comparisonForm(name));
  const zonePath = (zone: string) => `/zones/${encodeURIComponent(`${zone}.`)}`;
  const keyPath = (name: string) => `/tsigkeys/${encodeURIComponent(`${name}.`)}`;

  return {
    zones: () => names('/zones?dnssec=false'),
    keys: () => names('/tsigkeys'),
    async key(name) {
      const found = await get(keyKind, keyPath(name));
      return found === undefined
        ? undefined
        : { algorithm: comparisonForm(found.algorithm), secret: found.key };
    },
    async createKey({ name, algorithm, secret }) {
      const body = { name: `${name}.`, algorithm, key: secret };
      await send('POST', '/tsigkeys', body);
    },
    async changeSecret(name, secret) {
      await send('PUT', keyPath(name), { key: secret });
    },
    async deleteKey(name) {
      await send('DELETE', keyPath(name));
    },
    async metadata(zone) {
      const found = await get(metadataKind, `${zonePath(zone)}/metadata`);
      return found && new Map(found.map(({ kind, metadata }) => [kind, metadata]));
    },
    async setTransferKeys(zone, list) {
      const body = { master_tsig_key_ids: list.map((name) => `${name}.`) };
      await send('PUT', zonePath(zone), body);
    },
    async setMetadata(zone, kind, metadata) {
      const path = `${zonePath(zone)}/metadata/${kind}`;
      if (metadata.length === 0) await send('DELETE', path);
      else await send('PUT', path, { metadata });
    },
    async settings() {
      const found = (await get(settingsKind, '/config')) ?? [];
      return new Map(found.map(({ name, value }) => [name, value]));
    },
  };
}
