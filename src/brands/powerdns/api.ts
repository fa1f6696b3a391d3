import { anyText, array, type Kind } from '../../core/field.ts';
import { responseObject } from '../../core/object.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { parseJson } from '../../net/http.ts';
import { digestOf } from '../digest.ts';
import { DriverError } from '../driver.ts';
import { createRequests, type PowerdnsOptions, type Send } from './requests.ts';

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
  /**
   * Returns all metadata of a zone, by kind, with a digest. Returns only the digest if it is
   * `known`. Returns undefined if there is no zone.
   */
  metadata(zone: string, known?: string): Promise<Metadata | undefined>;
  /** Sets the keys that may transfer a zone. Does nothing if there is no zone. */
  setTransferKeys(zone: string, names: readonly string[]): Promise<void>;
  /** Sets one kind of metadata of a zone. Does nothing if there is no zone. */
  setMetadata(zone: string, kind: string, values: readonly string[]): Promise<void>;
  settings(): Promise<ReadonlyMap<string, string>>;
}

interface Metadata {
  readonly digest: string;
  readonly kinds?: ReadonlyMap<string, readonly string[]>;
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

/** Names as read last, by the path of the list. To read 2,000 names takes 4 ms. */
type LastNames = Map<string, { readonly digest: string; readonly names: readonly string[] }>;

/**
 * The returned function opens the API for one pass: it reads the API key once, and throws
 * `DriverError`. The signal ends all requests of the pass.
 */
export function createPowerdnsApi(
  options: PowerdnsOptions,
): (ending: AbortSignal) => Promise<PowerdnsApi> {
  const begin = createRequests(options);
  const last: LastNames = new Map();
  return async (ending) => apiOf(await begin(ending), last);
}

function apiOf(send: Send, last: LastNames): PowerdnsApi {
  const read = <T>(kind: Kind<T>, path: string, text: string): T => {
    const parsed = kind.parse(parseJson(text));
    if ('value' in parsed) return parsed.value;
    throw new DriverError(
      'refused_by_server',
      `The response of PowerDNS to GET ${path} ${parsed.problem}.`,
      'Set `url` to the URL of the API of PowerDNS 4.7 or later.',
    );
  };
  const get = async <T>(kind: Kind<T>, path: string) => {
    const text = await send('GET', path);
    return text === undefined ? undefined : read(kind, path, text);
  };
  const names = async (path: string) => {
    const text = (await send('GET', path)) ?? '[]';
    const digest = digestOf(text);
    const former = last.get(path);
    if (former?.digest === digest) return former.names;
    const found = read(named, path, text).map(({ name }) => comparisonForm(name));
    last.set(path, { digest, names: found });
    return found;
  };
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
    async metadata(zone, known) {
      const path = `${zonePath(zone)}/metadata`;
      const text = await send('GET', path);
      if (text === undefined) return undefined;
      const digest = digestOf(text);
      if (digest === known) return { digest };
      const found = read(metadataKind, path, text);
      return { digest, kinds: new Map(found.map(({ kind, metadata }) => [kind, metadata])) };
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
