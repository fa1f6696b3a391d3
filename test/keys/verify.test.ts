import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Check, Verdict } from '../../src/dns/key-check.ts';
import { decodeMessage, encodeMessage, FLAGS } from '../../src/dns/message.ts';
import { signMessage } from '../../src/dns/tsig.ts';
import { exportKey } from '../../src/keys/export/export-formats.ts';
import type { Key } from '../../src/formats/key.ts';
import { diagnoseKey, probeKey, type Learned, type ProbeTarget } from '../../src/net/probe.ts';
import { freePort } from '../harness/connections.ts';
import { NAME_SERVERS, ZONE, type NameServer } from '../harness/name-servers.ts';
import { SECRET } from '../harness/samples.ts';
import { hasProgram, TOOL_ENVIRONMENT } from '../harness/tools.ts';
import { temporaryFolder } from '../harness/service.ts';

const ALLOWED: Key = { name: 'allowed.example', algorithm: 'hmac-sha256', secret: SECRET };
const IDLE: Key = { ...ALLOWED, name: 'idle.example' };
const TIMEOUTS = { tries: 3, seconds: 2 };

interface KeyCheck extends ProbeTarget {
  readonly key: Key;
  readonly check: Check;
}

function checkKey({ key, check, ...target }: KeyCheck, now: () => number, timeouts = TIMEOUTS) {
  return diagnoseKey(key, check, target, now, timeouts);
}

/**
 * Valid and invalid keys. Each case has a key, and may have a clock difference in seconds and a
 * zone.
 */
const CASES = {
  good: { key: ALLOWED },
  'in upper case': { key: { ...ALLOWED, name: 'ALLOWED.Example.' } },
  'unknown key': { key: { ...ALLOWED, name: 'unknown.example' } },
  'wrong secret': { key: { ...ALLOWED, secret: 'bm90IHRoZSBzYW1lIGtleSBhcyBiZWZvcmUgYXQgYWxs' } },
  'wrong algorithm': { key: { ...ALLOWED, algorithm: 'hmac-sha512' } },
  'clock ahead': { key: ALLOWED, skew: 3600 },
  'clock behind': { key: ALLOWED, skew: -3600 },
  'not authorised': { key: IDLE },
  'another zone': { key: ALLOWED, zone: 'c.test.' },
} satisfies Record<string, { key: Key; skew?: number; zone?: string }>;
type Case = keyof typeof CASES;

type Verdicts = readonly [query: Verdict, transfer: Verdict, update: Verdict];
const all = (verdict: Verdict): Verdicts => [verdict, verdict, verdict];

/** The verdicts that most servers cause: those of BIND. */
const USUAL: Readonly<Record<Case, Verdicts>> = {
  good: all('good'),
  'in upper case': all('good'),
  'unknown key': all('unknown key'),
  'wrong secret': all('wrong secret'),
  'wrong algorithm': all('wrong algorithm'),
  'clock ahead': all('clock skew'),
  'clock behind': all('clock skew'),
  'not authorised': ['good', 'not authorised', 'not authorised'],
  'another zone': all('not authorised'),
};

/** The expected verdicts for each case on each server, for a query, a transfer and an update. */
const FOUND: Readonly<Record<string, Readonly<Record<Case, Verdicts>>>> = {
  BIND: USUAL,
  // Knot reports a key without rights as unknown, and does not sign refusals.
  Knot: {
    ...USUAL,
    'not authorised': all('unknown key'),
    'another zone': ['not possible', 'rejected', 'rejected'],
  },
  // NSD compares the algorithm only when it compares a key with an access list, and does not
  // support updates.
  NSD: {
    ...USUAL,
    good: ['good', 'good', 'not possible'],
    'in upper case': ['good', 'good', 'not possible'],
    'wrong algorithm': ['good', 'wrong algorithm', 'not possible'],
    'not authorised': ['good', 'not authorised', 'not possible'],
    'another zone': ['not authorised', 'not authorised', 'not possible'],
  },
  // PowerDNS states no reason when it rejects a key.
  PowerDNS: {
    ...USUAL,
    'unknown key': all('rejected'),
    'wrong secret': all('rejected'),
    'clock ahead': all('rejected'),
    'clock behind': all('rejected'),
    'another zone': ['not authorised', 'rejected', 'not authorised'],
  },
};
const CHECKS: readonly Check[] = ['query', 'transfer', 'update'];

const folder = temporaryFolder();

const dig = hasProgram('dig', 'bind9-dnsutils');

/**
 * Returns what `dig` reports about a signed query or transfer: whether the server accepted it, and
 * the TSIG error.
 */
function askDig(
  port: number,
  check: Check,
  key: Key,
  zone: string,
  skew: number,
): { accepted: boolean; error: string | undefined } {
  const file = join(folder, `${key.name}.key`);
  writeFileSync(file, exportKey('nsupdate', key).text);
  const time = Math.floor(Date.now() / 1000) + skew;
  const flags = [
    '-k',
    file,
    ...(skew === 0 ? [] : [`+fuzztime=${time}`]),
    '+tries=2',
    '+time=3',
    zone,
    check === 'transfer' ? 'AXFR' : 'SOA',
  ];
  const { stdout } = spawnSync('dig', ['@127.0.0.1', '-p', String(port), ...flags], {
    encoding: 'utf8',
    env: TOOL_ENVIRONMENT,
  });
  const accepted =
    check === 'transfer'
      ? /^;; XFR size/m.test(stdout)
      : /status: NOERROR/.test(stdout) && !/could not be validated|Couldn't verify/.test(stdout);
  return { accepted, error: /\b(BADKEY|BADSIG|BADTIME)\b/.exec(stdout)?.[1] };
}

/** The TSIG error that dig shows for a verdict, if the server sends it. */
const SHOWN_BY_DIG: Readonly<Partial<Record<Verdict, string>>> = {
  'wrong secret': 'BADSIG',
  'clock skew': 'BADTIME',
  'unknown key': 'BADKEY',
};

for (const { name, isInstalled, start } of NAME_SERVERS) {
  describe.runIf(isInstalled() && dig)(name, () => {
    let server: NameServer;
    beforeAll(async () => {
      server = await start({ allowed: ALLOWED, others: [IDLE] });
    });
    afterAll(() => server.stop());

    const judged = (check: Check, which: Case) => {
      const given: { key: Key; skew?: number; zone?: string } = CASES[which];
      const { key, skew = 0, zone = ZONE } = given;
      const at = { host: '127.0.0.1', port: server.port };
      return checkKey({ key, server: at, zone, check }, () => Date.now() + skew * 1000);
    };

    test.each(Object.keys(CASES) as Case[])(
      '%s: the verdicts for a query, a transfer and an update are as expected, and agree with dig',
      async (which) => {
        const given: { key: Key; skew?: number; zone?: string } = CASES[which];
        const { key, skew = 0, zone = ZONE } = given;
        const verdicts: Verdict[] = [];
        for (const check of CHECKS) {
          const { verdict } = await judged(check, which);
          verdicts.push(verdict);
          if (check === 'update') continue;
          const { accepted, error } = askDig(server.port, check, key, zone, skew);
          expect({ check, accepted }).toEqual({ check, accepted: verdict === 'good' });
          if (verdict === 'rejected' || SHOWN_BY_DIG[verdict] !== undefined)
            expect({ check, error }).toEqual({ check, error: SHOWN_BY_DIG[verdict] });
        }
        expect(verdicts).toEqual(FOUND[name]?.[which]);
      },
    );

    test.each(Object.keys(CASES) as Case[])(
      '%s: a request for changes has the same verdict over UDP as over TCP',
      async (which) => {
        const given: { key: Key; skew?: number; zone?: string } = CASES[which];
        const { key, skew = 0, zone = ZONE } = given;
        const address = { host: '127.0.0.1', port: server.port };
        const now = () => Date.now() + skew * 1000;
        const verdictOf = async (learned: Learned) =>
          (await probeKey(key, 'transfer', { server: address, zone, learned }, now)).verdict;
        const serials = () => new Map([[zone, 5]]);
        const learned = { serials: serials(), prefersUdp: true };
        const verdict = await verdictOf(learned);
        expect(verdict).toBe(await verdictOf({ serials: serials() }));
        const isGood = which === 'good' || which === 'in upper case';
        expect(verdict === 'good').toBe(isGood);
        expect(learned.prefersUdp).toBe(!(isGood && name === 'PowerDNS'));
      },
    );

    test('does not change the zone when it tests an update', async () => {
      const serial = async () =>
        spawnSync('dig', ['@127.0.0.1', '-p', String(server.port), '+short', ZONE, 'SOA'], {
          encoding: 'utf8',
        }).stdout;
      const before = await serial();
      expect(before).toContain(' 5 3600 ');
      await judged('update', 'good');
      expect(await serial()).toBe(before);
    });
  });
}

describe('responses of other servers', () => {
  const now = () => Date.now();

  /**
   * Starts a UDP server that sends the result of `reply` for each request, or nothing for
   * undefined.
   */
  async function serve(reply: (request: Buffer) => Buffer | undefined): Promise<KeyCheck> {
    const socket = createSocket('udp4');
    socket.on('message', (request, { port, address }) => {
      const response = reply(request);
      if (response !== undefined) socket.send(response, port, address);
    });
    // A test can also listen with TCP on this port, which an outgoing connection must not take.
    socket.bind(await freePort(), '127.0.0.1');
    await once(socket, 'listening');
    onTestFinished(() => void socket.close());
    return {
      key: ALLOWED,
      server: { host: '127.0.0.1', port: socket.address().port },
      zone: ZONE,
      check: 'query',
    };
  }

  /** Returns the unsigned response to a request, and the MAC of the request. */
  function plainAnswer(request: Buffer): { response: Buffer; requestMac: Buffer } {
    const message = decodeMessage(request);
    const response = encodeMessage({ ...message, flags: FLAGS.response, additionals: [] });
    const data = message.additionals[0]?.data ?? Buffer.alloc(0);
    return { response, requestMac: data.subarray(data.length - 6 - 32, data.length - 6) };
  }

  test.each([
    ['is not signed', (response: Buffer) => response],
    [
      'is signed with another key',
      (response: Buffer, priorMac: Buffer) => sign(response, { priorMac, secret: 'YW5vdGhlcg==' }),
    ],
    ['is signed without the MAC of the request', (response: Buffer) => sign(response, {})],
  ])('untrusted response, for a response that %s', async (_case, make) => {
    const request = await serve((octets) => {
      const { response, requestMac } = plainAnswer(octets);
      return make(response, requestMac);
    });
    expect(await checkKey(request, now, TIMEOUTS)).toMatchObject({ verdict: 'untrusted response' });
  });

  function sign(
    response: Buffer,
    { priorMac, secret }: { priorMac?: Buffer; secret?: string },
  ): Buffer {
    const key = secret === undefined ? ALLOWED : { ...ALLOWED, secret };
    return signMessage(response, key, {
      timeSigned: Math.floor(Date.now() / 1000),
      ...(priorMac === undefined ? {} : { priorMac }),
    }).octets;
  }

  test('clock skew, for a response that was signed at another time', async () => {
    const request = await serve((octets) => {
      const { response, requestMac } = plainAnswer(octets);
      return signMessage(response, ALLOWED, {
        timeSigned: Math.floor(Date.now() / 1000) + 1000,
        priorMac: requestMac,
      }).octets;
    });
    const result = await checkKey(request, now, TIMEOUTS);
    expect(result).toMatchObject({
      verdict: 'clock skew',
      reason: expect.stringContaining('seconds ahead of the local clock') as string,
    });
  });

  test('no response, for silence or for a response that is not a DNS response to the request', async () => {
    const brief = { tries: 2, seconds: 0.1 };
    for (const reply of [
      () => undefined,
      () => Buffer.from('hello'),
      (octets: Buffer) => octets,
      (octets: Buffer) => {
        const { response } = plainAnswer(octets);
        response.writeUInt16BE((response.readUInt16BE(0) + 1) & 0xffff, 0);
        return response;
      },
    ]) {
      expect(await checkKey(await serve(reply), now, brief)).toMatchObject({
        verdict: 'no response',
      });
    }
  });

  test('no response, if nothing listens or the host name does not resolve', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as { port: number };
    listener.close();
    await once(listener, 'close');
    const request = { key: ALLOWED, server: { host: '127.0.0.1', port }, zone: ZONE } as const;
    for (const check of CHECKS) {
      expect(await checkKey({ ...request, check }, now, TIMEOUTS)).toMatchObject({
        verdict: 'no response',
        reason: 'nothing listens at the address',
      });
    }
    const nowhere = {
      ...request,
      server: { host: 'nowhere.invalid', port },
      check: 'query',
    } as const;
    expect(await checkKey(nowhere, now, TIMEOUTS)).toMatchObject({ verdict: 'no response' });
  });

  test.each([
    [
      'closes the connection at once',
      'no response',
      'closed the connection without a response',
      () => Buffer.alloc(0),
    ],
    [
      'sends no DNS message',
      'untrusted response',
      'not a valid DNS message',
      () => Buffer.from('\0\x05hello'),
    ],
  ])('a server that %s in a transfer: %s', async (_case, verdict, reason, reply) => {
    const listener = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(reply()));
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    onTestFinished(() => void listener.close());
    const { port } = listener.address() as { port: number };
    const result = await checkKey(
      { key: ALLOWED, server: { host: '127.0.0.1', port }, zone: ZONE, check: 'transfer' },
      now,
      TIMEOUTS,
    );
    expect(result).toMatchObject({ verdict, reason: expect.stringContaining(reason) as string });
  });
});
