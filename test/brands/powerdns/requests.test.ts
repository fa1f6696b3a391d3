import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { DesiredKey } from '../../../src/brands/desired-state.ts';
import { DRIVERS } from '../../../src/brands/drivers.ts';
import { probeKey } from '../../../src/net/probe.ts';
import { call, powerdns } from '../../harness/brands/powerdns.ts';
import { startDrivenServer, ZONES, type DrivenServer } from '../../harness/driven-server.ts';
import { newKey } from '../driver-contract.ts';

/** A proxy between the driver and PowerDNS that records requests. */
interface Recorder {
  readonly url: string;
  /** The method and path of each request, in the order in which PowerDNS responded. */
  readonly requests: string[];
  /**
   * Called before a request is sent to PowerDNS, with its method and path. If the function returns
   * `refuse`, the recorder refuses the request with an error that quotes the body of the request.
   */
  before: (request: string) => Promise<unknown>;
}

const BASE = '/api/v1/servers/localhost';

/**
 * Repeats a request until it succeeds. PowerDNS with SQLite refuses a change while the database
 * changes.
 */
async function repeat(request: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      await request();
      return;
    } catch (error) {
      if (attempt === 100) throw error;
    }
}

describe.runIf(powerdns.isInstalled())('the requests to PowerDNS', () => {
  let server: DrivenServer;
  beforeAll(async () => {
    server = await startDrivenServer(powerdns);
  });

  const record = async (): Promise<Recorder> => {
    const recorder = { url: '', requests: [] as string[], before: () => Promise.resolve() };
    const proxy = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        void (async () => {
          const { method = '', url = '' } = incoming;
          const request = `${method} ${url.slice(BASE.length)}`;
          if ((await (recorder as Recorder).before(request)) === 'refuse') {
            recorder.requests.push(request);
            const error = `Refused: ${Buffer.concat(chunks).toString()}`;
            response.writeHead(422).end(JSON.stringify({ error }));
            return;
          }
          const answer = await fetch(`http://127.0.0.1:${server.controlPort}${url}`, {
            method,
            headers: { 'x-api-key': String(incoming.headers['x-api-key']) },
            ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
          });
          const text = await answer.text();
          recorder.requests.push(request);
          response.writeHead(answer.status).end(text);
        })().catch(() => response.destroy()); // PowerDNS has closed the connection
      });
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onTestFinished(() => {
      proxy.close();
      proxy.closeAllConnections();
    });
    recorder.url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    return recorder;
  };

  /**
   * Creates a driver that uses a recorder. `pass` applies a state with the given keys, and returns
   * the requests.
   */
  const startDriver = async (more: object = {}) => {
    const recorder = await record();
    const local = { ...(powerdns.options(server) as object), url: recorder.url, ...more };
    const driver = DRIVERS.powerdns?.create(local, 'any');
    const owned = new Set<string>();
    const pass = async (...keys: readonly DesiredKey[]) => {
      for (const { name } of keys) owned.add(name);
      const state = { zones: ZONES, keys };
      const signal = AbortSignal.timeout(60_000);
      recorder.requests.length = 0;
      await driver?.apply(state, owned, signal);
      return recorder.requests;
    };
    return { recorder, pass, driver };
  };
  const api = (method: string, path: string, body?: object) =>
    call(server.folder, server.controlPort, method, path, body);
  const verdictOn = async (key: DesiredKey, zone: string) =>
    (await probeKey(key, 'transfer', { server: server.address, zone }, Date.now)).verdict;

  const isRead = (request: string) => request.startsWith('GET ');
  /** Returns the requests that change something, with the requests for zones sorted by zone. */
  const changesOf = (requests: readonly string[]) => {
    const changes = requests.filter((request) => !isRead(request));
    const zoneOf = (request: string) => /\/zones\/([^/]+)/.exec(request)?.[1] ?? '';
    const [first, last] = [changes.findIndex(zoneOf), changes.findLastIndex(zoneOf) + 1];
    const ofZones = changes.slice(first, last);
    const sorted = ofZones.toSorted((one, other) => zoneOf(one).localeCompare(zoneOf(other)));
    return [...changes.slice(0, first), ...sorted, ...changes.slice(last)];
  };

  test('a pass adds keys before networks and removes networks before keys, even if zones change in parallel', async () => {
    const { pass } = await startDriver({ zoneChanges: 8 });
    const key = newKey({ rights: ['update'] });
    const other = newKey({ rights: ['update'] });
    const [add, change, remove] = [
      [...(await pass(key))],
      [...(await pass(key, other))],
      [...(await pass())],
    ];
    for (const zone of ZONES) {
      const kinds = (list: readonly string[]) =>
        list
          .filter((request) => request.includes(`/zones/${zone}./`) && !request.startsWith('GET'))
          .map((request) => request.replace(`/zones/${zone}./metadata/`, ''));
      expect(kinds(add)).toEqual(['PUT TSIG-ALLOW-DNSUPDATE', 'PUT ALLOW-DNSUPDATE-FROM']);
      expect(kinds(change)).toEqual([
        'DELETE ALLOW-DNSUPDATE-FROM',
        'PUT TSIG-ALLOW-DNSUPDATE',
        'PUT ALLOW-DNSUPDATE-FROM',
      ]);
      expect(kinds(remove)).toEqual(['DELETE ALLOW-DNSUPDATE-FROM', 'DELETE TSIG-ALLOW-DNSUPDATE']);
    }
    expect(add.indexOf('POST /tsigkeys')).toBeLessThan(
      add.findIndex((request) => request.startsWith('PUT ')),
    );
    expect(remove.slice(-2).toSorted()).toEqual(
      [key, other].map(({ name }) => `DELETE /tsigkeys/${name}.`).toSorted(),
    );
  });

  test('PowerDNS refuses a removed key that signs no NOTIFY before the pass removes its first grant; afterwards, a new key can have its name', async () => {
    const { recorder, pass } = await startDriver();
    const [signing, key] = [newKey({ rights: ['transfer'] }), newKey({ rights: ['transfer'] })];
    await pass(signing, key);
    for (const zone of ZONES) expect(await verdictOn(key, zone)).toBe('good');
    const verdicts: string[] = [];
    recorder.before = async (request) => {
      if (request.startsWith('PUT /zones/'))
        for (const zone of ZONES) verdicts.push(await verdictOn(key, zone));
    };
    await pass(signing);
    expect(verdicts).toHaveLength(4);
    expect(verdicts).not.toContain('good');
    const again = newKey({ rights: ['transfer'], name: key.name, zones: ['a.test'] });
    recorder.before = () => Promise.resolve();
    await pass(signing, again);
    expect(await verdictOn(again, 'a.test')).toBe('good');
    expect(await verdictOn(again, 'b.test')).not.toBe('good');
    await pass();
  });

  test('a removed key that signs NOTIFY is accepted for at most 5 s, and not after a failed pass', async () => {
    const { recorder, pass } = await startDriver();
    const [slow, failing, other] = [1, 2, 3].map(() => newKey({ rights: ['transfer'] })) as [
      DesiredKey,
      DesiredKey,
      DesiredKey,
    ];
    await pass(slow, failing, other);
    const begun: string[] = [];
    recorder.before = async (request) => {
      begun.push(request);
      const zone = /^PUT \/zones\/(.+)\.$/.exec(request)?.[1];
      if (zone === undefined) return;
      await expect.poll(() => verdictOn(slow, zone), { interval: 100 }).toBe('rejected');
    };
    const done = await pass(failing, other);
    // The grants are removed while the key is accepted. It is disabled because that takes too long.
    const disables = `PUT /tsigkeys/${slow.name}.`;
    const isOfZone = (request: string) => request.startsWith('PUT /zones/');
    expect(begun.findIndex(isOfZone)).toBeLessThan(begun.indexOf(disables));
    expect(done.indexOf(disables)).toBeGreaterThan(-1);
    expect(done.indexOf(disables)).toBeLessThan(done.findIndex(isOfZone));
    recorder.before = (request) => Promise.resolve(request.startsWith('PUT /zones/') && 'refuse');
    await expect(pass(other)).rejects.toThrow('PowerDNS refused PUT /zones/');
    for (const zone of ZONES) expect(await verdictOn(failing, zone)).not.toBe('good');
    recorder.before = () => Promise.resolve();
    await pass(other);
    for (const zone of ZONES) expect(await verdictOn(other, zone)).toBe('good');
    await pass();
  });

  test('a compromised key that signs NOTIFY is refused before the first zone changes', async () => {
    const { recorder, pass, driver } = await startDriver();
    const [key, successor] = [newKey({ rights: ['transfer'] }), newKey({ rights: ['transfer'] })];
    await pass(key);
    await pass(key, successor);
    recorder.requests.length = 0;
    const state = {
      zones: ZONES,
      keys: [successor],
      removals: [{ name: key.name, successor: successor.name, compromised: true }],
    };
    const owned = new Set([key.name, successor.name]);
    await driver?.apply(state, owned, AbortSignal.timeout(60_000));
    const [first, ...further] = changesOf(recorder.requests);
    expect(first).toBe(`PUT /tsigkeys/${key.name}.`);
    expect(further).toContain('PUT /zones/a.test.');
    await pass();
  });

  test('the first key of a zone stays first, and the oldest key is the first of a new zone', async () => {
    const { pass } = await startDriver();
    const keyNamed = (name: string) => newKey({ rights: ['transfer'], name });
    const [first, second] = [keyNamed('z.example'), keyNamed('y.example')];
    const listOf = async (zone: string) => {
      const { master_tsig_key_ids: ids } = (await api('GET', `/zones/${zone}.?rrsets=false`)) as {
        readonly master_tsig_key_ids: readonly string[];
      };
      return ids;
    };
    await pass(first, second);
    await api('PUT', '/zones/b.test.', { master_tsig_key_ids: [] });
    const third = keyNamed('a.example');
    await pass(first, second, third);
    for (const zone of ZONES)
      expect(await listOf(zone)).toEqual(['z.example.', 'y.example.', 'a.example.']);
    // An operator can choose another key.
    const chosen = ['a.example.', 'z.example.', 'y.example.'];
    await api('PUT', '/zones/b.test.', { master_tsig_key_ids: chosen });
    await pass(first, second, third, newKey({ rights: ['transfer'], zones: ['a.test'] }));
    expect(await listOf('b.test')).toEqual(chosen);
    await pass(second, third);
    expect(await listOf('a.test')).toEqual(['y.example.', 'a.example.']);
    expect(await listOf('b.test')).toEqual(['a.example.', 'y.example.']);
    await pass();
  });

  test('comparisons read five keys each, and find each changed secret', async () => {
    const { pass, driver, recorder } = await startDriver();
    const keys = Array.from({ length: 8 }, () => newKey({ rights: ['transfer'], zones: [] }));
    await pass(...keys);
    const owned = new Set(keys.map(({ name }) => name));
    const compare = async () => {
      recorder.requests.length = 0;
      const state = { zones: ZONES, keys };
      const differences = await driver?.compare(state, owned, AbortSignal.timeout(60_000));
      const names = recorder.requests.filter((request) => request.startsWith('GET /tsigkeys/'));
      return { differences, names };
    };
    const read = [await compare(), await compare()].flatMap(({ names }) => names);
    expect(read).toHaveLength(10);
    expect(new Set(read).size).toBe(8);
    const changed = new Set<string | undefined>();
    const [first, last] = [keys[0], keys.at(-1)];
    for (const key of [first, last])
      await api('PUT', `/tsigkeys/${key?.name}.`, { key: newKey({ rights: [] }).secret });
    for (let round = 0; round < 2; round += 1)
      for (const { key } of (await compare()).differences ?? []) changed.add(key);
    expect(changed).toEqual(new Set([first?.name, last?.name]));
    // A pass after a difference reads all keys.
    await pass(...keys);
    expect((await compare()).differences).toEqual([]);
    expect((await compare()).differences).toEqual([]);
    await pass();
  });

  test('comparisons of the same state find each grant that another program changes', async () => {
    const { pass, driver } = await startDriver();
    const [key, other] = [newKey({ rights: ['transfer'] }), newKey({ rights: ['transfer'] })];
    await pass(key, other);
    const state = { zones: ZONES, keys: [key, other] };
    const compare = (...owned: readonly DesiredKey[]) =>
      driver?.compare(state, new Set(owned.map(({ name }) => name)), AbortSignal.timeout(60_000));
    const listed = (...some: readonly DesiredKey[]) =>
      api('PUT', '/zones/b.test.', { master_tsig_key_ids: some.map(({ name }) => `${name}.`) });
    for (let round = 0; round < 3; round += 1) expect(await compare(...state.keys)).toEqual([]);
    await listed(key);
    for (let round = 0; round < 2; round += 1)
      expect(await compare(...state.keys)).toMatchObject([{ kind: 'changed', key: other.name }]);
    await listed(key, other);
    for (let round = 0; round < 2; round += 1) expect(await compare(...state.keys)).toEqual([]);
    const gone = newKey({ rights: ['transfer'] });
    await api('POST', '/tsigkeys', {
      name: `${gone.name}.`,
      algorithm: gone.algorithm,
      key: gone.secret,
    });
    await listed(key, other, gone);
    expect(await compare(...state.keys)).toEqual([]); // another program's key
    const differing = (await compare(...state.keys, gone)) ?? [];
    expect(differing.map(({ kind }) => kind)).toEqual(['extra', 'other']);
    await pass(gone);
    await pass();
  });

  test('a pass reads all keys again after another process has delivered', async () => {
    const [one, other] = [await startDriver(), await startDriver()];
    const keys = Array.from({ length: 3 }, () => newKey({ rights: ['transfer'] }));
    const owned = new Set(keys.map(({ name }) => name));
    let stamps = 0;
    const apply = async ({ driver, recorder }: typeof one, ...state: readonly DesiredKey[]) => {
      recorder.requests.length = 0;
      stamps += 1;
      await driver?.apply(
        { zones: ZONES, keys: state, stamps: [stamps.toString(16).padStart(16, '0')] },
        owned,
        AbortSignal.timeout(60_000),
      );
      return recorder.requests.filter((request) => request.startsWith('GET /tsigkeys/k-'));
    };
    await apply(one, ...keys);
    const fresh = newKey({ rights: ['transfer'] });
    owned.add(fresh.name);
    expect(await apply(one, ...keys, fresh)).toEqual([]);
    expect(await apply(other, ...keys)).toHaveLength(keys.length);
    expect(await apply(one, ...keys, fresh)).toHaveLength(keys.length);
    await apply(one);
    await api('DELETE', '/tsigkeys/tsigil-stamp-any.');
  });

  test('a new key never gets the grants of a former key with its name, whether it is one of few or of many new keys', async () => {
    for (const others of [0, ZONES.length]) {
      const { recorder, pass } = await startDriver();
      await pass();
      const key = newKey({ rights: ['transfer'], zones: ['a.test'] });
      const { algorithm, secret } = key;
      await api('POST', '/tsigkeys', { name: `${key.name}.`, algorithm, key: secret });
      await api('PUT', '/zones/b.test.', { master_tsig_key_ids: [`${key.name}.`] });
      await api('DELETE', `/tsigkeys/${key.name}.`);
      const verdicts: string[] = [];
      recorder.before = async () => {
        verdicts.push(await verdictOn(key, 'b.test'));
      };
      const more = Array.from({ length: others }, () =>
        newKey({ rights: ['transfer'], zones: [] }),
      );
      await pass(key, ...more);
      verdicts.push(await verdictOn(key, 'b.test'));
      expect(verdicts.length).toBeGreaterThan(5);
      expect(verdicts).not.toContain('good');
      expect(await verdictOn(key, 'a.test')).toBe('good');
      recorder.before = () => Promise.resolve();
      await pass();
    }
  });

  test('a changed secret never gets the former grants of its key, and the former secret never gets new grants', async () => {
    const { recorder, pass } = await startDriver();
    const former = newKey({ rights: ['transfer'], zones: ['a.test'] });
    await pass(former);
    const key = newKey({ rights: ['transfer'], zones: ['b.test'], name: former.name });
    const verdicts: string[] = [];
    recorder.before = async () => {
      verdicts.push(await verdictOn(former, 'b.test'), await verdictOn(key, 'a.test'));
    };
    await pass(key);
    verdicts.push(await verdictOn(former, 'b.test'), await verdictOn(key, 'a.test'));
    expect(verdicts.length).toBeGreaterThan(10);
    expect(verdicts).not.toContain('good');
    expect(await verdictOn(key, 'b.test')).toBe('good');
    recorder.before = () => Promise.resolve();
    await pass();
  });

  test('if PowerDNS cannot change a secret, a removed key loses its grants and is deleted', async () => {
    const { recorder, pass } = await startDriver();
    const [signing, key] = [newKey({ rights: ['transfer'] }), newKey({ rights: ['transfer'] })];
    await pass(signing, key);
    recorder.before = async (request) => {
      // PowerDNS then refuses the request, because there is no such key.
      if (request.startsWith('PUT /tsigkeys/')) await api('DELETE', `/tsigkeys/${key.name}.`);
    };
    await pass(signing);
    for (const zone of ZONES) expect(await verdictOn(key, zone)).not.toBe('good');
    expect(JSON.stringify(await api('GET', '/tsigkeys'))).not.toContain(key.name);
    expect(JSON.stringify(await api('GET', '/zones/a.test./metadata'))).not.toContain(key.name);
    recorder.before = () => Promise.resolve();
    await pass();
  });

  test('a pass succeeds if another program deletes a zone while the pass reads or changes this zone', async () => {
    const zone = { name: 'short.test.', kind: 'Native', nameservers: ['ns.short.test.'] };
    const { recorder, pass } = await startDriver();
    for (const [method, path] of [
      ['GET', 'metadata'],
      ['PUT', ''],
      ['PUT', 'metadata/TSIG-ALLOW-DNSUPDATE'],
    ]) {
      await api('POST', '/zones', zone);
      let deletions = 0;
      recorder.before = async (request) => {
        if (request !== `${method} /zones/short.test./${path}`.replace(/\/$/, '')) return;
        deletions += 1;
        if (deletions === 1) await repeat(() => api('DELETE', '/zones/short.test.'));
      };
      const key = newKey({ rights: ['transfer', 'update'], zones: ['a.test', 'short.test'] });
      await pass(key);
      expect(deletions).toBeGreaterThan(0);
      expect(await verdictOn(key, 'a.test')).toBe('good');
      await pass();
    }
  });

  test('a key of a failed pass never has the error name_taken, even if the service has lost its records of the pass', async () => {
    const { recorder, pass, driver } = await startDriver();
    const key = newKey({ rights: ['transfer'] });
    recorder.before = (request) => Promise.resolve(request.startsWith('PUT /zones/') && 'refuse');
    await expect(pass(key)).rejects.toThrow('PowerDNS refused PUT /zones/');
    recorder.before = () => Promise.resolve();
    const state = { zones: ZONES, keys: [key] };
    const applied = await driver?.apply(state, new Set(), AbortSignal.timeout(60_000));
    expect(applied).toEqual({ changed: true, problems: [] });
    for (const zone of ZONES) expect(await verdictOn(key, zone)).toBe('good');
    await pass();
  });

  test('a pass succeeds if a zone has a grant for a key that another program has deleted', async () => {
    const { pass } = await startDriver();
    const key = newKey({ rights: ['transfer'] });
    const foreign = { name: 'gone.example.', algorithm: 'hmac-sha256', key: key.secret };
    await api('POST', '/tsigkeys', foreign);
    await api('PUT', '/zones/a.test.', { master_tsig_key_ids: ['gone.example.'] });
    await api('DELETE', '/tsigkeys/gone.example.');
    await pass(key);
    for (const zone of ZONES) expect(await verdictOn(key, zone)).toBe('good');
    await pass();
  });
});
