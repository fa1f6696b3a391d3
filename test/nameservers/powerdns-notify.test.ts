import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DesiredKey } from '../../src/domain/delivery/desired-state.ts';
import { decodeMessage } from '../../src/domain/dns/message.ts';
import { verifyMessage } from '../../src/domain/dns/tsig.ts';
import type { Driver } from '../../src/nameservers/driver.ts';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { probeKey } from '../../src/net/probe.ts';
import { call, powerdns } from '../harness/brands/powerdns.ts';
import { startDrivenServer, ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { IS_TIMED, sized } from '../harness/sizes.ts';
import { newKey } from './driver-contract.ts';

/** The opcode of NOTIFY messages (RFC 1996 section 3.1). */
const NOTIFY = 4;

/**
 * A secondary server that has `keys`, and counts the NOTIFY messages that it receives: by the name
 * of the key, if the signature is valid, and otherwise as `bad` or `unsigned`.
 */
async function startSecondary(keys: readonly DesiredKey[]) {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  const counts = new Map<string, number>();
  const zones = new Map<string, string>();
  socket.on('message', (octets, { port, address }) => {
    const message = decodeMessage(octets);
    if (((message.flags >> 11) & 0xf) !== NOTIFY) return;
    const seconds = Math.floor(Date.now() / 1000);
    const outcomeOf = (key: DesiredKey) => verifyMessage(octets, key, undefined, seconds).outcome;
    const key = keys.find((each) => outcomeOf(each) === 'good');
    const isUnsigned = keys.some((each) => outcomeOf(each) === 'unsigned');
    const kind = key?.name ?? (isUnsigned ? 'unsigned' : 'bad');
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    zones.set(message.questions[0]?.name.replace(/\.$/, '') ?? '', kind);
    const response = Buffer.from(octets.subarray(0, 12));
    response.writeUInt16BE(message.flags | 0x8000, 2);
    response.writeUInt16BE(0, 10);
    const question = octets.indexOf(0, 12) + 5;
    socket.send(Buffer.concat([response, octets.subarray(12, question)]), port, address);
  });
  return { port: socket.address().port, counts, zones };
}

/** Starts a PowerDNS server that notifies a secondary server at `port` of changes. */
async function startPrimary(zones: readonly string[], port: number): Promise<DrivenServer> {
  const primary = {
    ...powerdns,
    configure(folder: string, ...rest: [number, number, (readonly string[])?]) {
      powerdns.configure(folder, ...rest);
      appendFileSync(
        join(folder, 'pdns.conf'),
        `primary=yes\nonly-notify=\nalso-notify=127.0.0.1:${port}\ngsqlite3-pragma-synchronous=0\n`,
      );
      const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
      database.exec(`UPDATE domains SET type = 'MASTER'`);
      database.close();
    },
  };
  const server = await startDrivenServer(primary, zones);
  onTestFinished(() => server.remove());
  return server;
}

function driverOf(server: DrivenServer): Driver {
  const driver = DRIVERS.powerdns?.create(powerdns.options(server), 'any');
  if (driver === undefined) throw new Error('There is no driver');
  return driver;
}

/** Sends NOTIFY messages for all zones, over and over, until the returned function is called. */
function notifyAlways({ folder, controlPort }: DrivenServer, zones: readonly string[]) {
  const ending = new AbortController();
  const run = async () => {
    for (let index = 0; !ending.signal.aborted; index += 1) {
      await call(folder, controlPort, 'PUT', `/zones/${zones[index % zones.length]}./notify`);
      await pause(PAUSE_MS); // the driver needs most of the time of the database
    }
  };
  const running = run();
  return async () => {
    ending.abort();
    await running;
  };
}

const PAUSE_MS = 5;

/** How long a removed key may sign NOTIFY, less the time for requests in progress. */
const SIGNING_MS = 4500;

describe.runIf(powerdns.isInstalled())('NOTIFY of PowerDNS', () => {
  test('while one of two keys is removed from all zones, or both are replaced, every NOTIFY has a valid signature', async () => {
    const count = sized(100, 1000);
    const more = Array.from({ length: count - ZONES.length }, (_, index) => `zone-${index}.test`);
    const zones = [...ZONES, ...more];
    const keyNamed = (name: string) => newKey({ rights: ['transfer'], name });
    const [first, second, third] = [keyNamed('z.test'), keyNamed('y.test'), keyNamed('a.test')];
    const secondary = await startSecondary([first, second, third]);
    const server = await startPrimary(zones, secondary.port);
    const driver = driverOf(server);
    const names = [third, second, first].map(({ name }) => name);
    let slowest = 0;
    const apply = async (...keys: readonly DesiredKey[]) => {
      const began = performance.now();
      await driver.apply({ zones, keys }, new Set(names), AbortSignal.timeout(120_000));
      slowest = Math.max(slowest, performance.now() - began);
    };
    const verdictOn = async (key: DesiredKey, zone: string) =>
      (await probeKey(key, 'transfer', { server: server.address, zone }, Date.now)).verdict;
    /** Waits until the last NOTIFY of each zone is signed with a key. */
    const expectSigner = (key: DesiredKey) =>
      expect
        .poll(() => zones.filter((zone) => secondary.zones.get(zone) !== key.name), {
          timeout: 120_000,
        })
        .toEqual([]);
    await apply(first, second);
    const end = notifyAlways(server, zones);
    try {
      await expectSigner(first);
      slowest = 0;
      secondary.counts.clear(); // PowerDNS also sent NOTIFY messages before there were keys
      // A new key whose name sorts earlier signs nothing, and its removal changes no signature.
      await apply(first, second, third);
      await apply(first, second);
      await expectSigner(first);
      await apply(second);
      for (const zone of zones.slice(0, 3)) expect(await verdictOn(first, zone)).not.toBe('good');
      await expectSigner(second);
      await apply(third);
      for (const zone of zones.slice(0, 3)) expect(await verdictOn(second, zone)).not.toBe('good');
      await expectSigner(third);
    } finally {
      await end();
    }
    if (IS_TIMED)
      process.stderr.write(
        `NOTIFY: ${JSON.stringify([...secondary.counts])}, slowest pass ${Math.round(slowest)} ms\n`,
      );
    const bad = secondary.counts.get('bad') ?? 0;
    secondary.counts.delete('bad');
    expect([...secondary.counts.keys()].toSorted()).toEqual(names);
    if (IS_TIMED || slowest < SIGNING_MS) expect(bad).toBe(0);
  }, 300_000);
});
