import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { mapConcurrently } from '../../src/core/scheduling/concurrency.ts';
import { findOpenRights, probeKey } from '../../src/net/probe.ts';
import type { DeliveryServer } from './delivery.ts';
import { hasDnsTools, isGranted } from './dns-tools.ts';
import { HAND_KEYS, HAND_ZONES } from './hand-made.ts';

/** A busy machine responds late. */
const PATIENT = { tries: 4, seconds: 10 };

/** Returns what each key may do on a hand-made server, and what needs none. */
export async function permissionsOn(server: DeliveryServer): Promise<string[]> {
  const target = (zone: string) => ({ server: server.address, zone });
  const signed = HAND_ZONES.flatMap((zone) =>
    server.rights.flatMap((right) => HAND_KEYS.map((key) => ({ zone, right, key }))),
  );
  const found = await mapConcurrently(signed, 4, async ({ zone, right, key }) => {
    const { verdict } = await probeKey(key, right, target(zone), Date.now, PATIENT);
    return verdict === 'good' ? [`${right} of ${zone} by ${key.name}`] : [];
  });
  const open = await mapConcurrently(HAND_ZONES, 4, async (zone) =>
    (await findOpenRights(target(zone), PATIENT)).map((right) => `${right} of ${zone} by anyone`),
  );
  const [zone, name, from] = ['d.test', 'k6', '127.0.0.17'];
  const key = HAND_KEYS.find((each) => each.name === name);
  const isNear = hasDnsTools() && (await isGranted(server.address, zone, 'transfer', key, from));
  const near = isNear === true ? [`transfer of ${zone} by ${name} from ${from}`] : [];
  return [...found, ...open, near].flat();
}

/**
 * Transfers zones of hand-made servers all the time until `end`, which expects that all were
 * accepted or refused as their configuration says, and returns how many were sent.
 */
export function transferring(...servers: readonly DeliveryServer[]): { end(): Promise<number> } {
  const wrong: string[] = [];
  let count = 0;
  let isEnded = false;
  const clients = [
    ['k1', 'a.test', true],
    ['k4', 'b.test', true],
    ['k2', 'c.test', true],
    ['k4', 'a.test', false],
    ['k8', 'b.test', false],
  ] as const;
  const loops = servers.flatMap(({ address, brand }) =>
    clients.map(async ([name, zone, isPermitted]) => {
      const key = HAND_KEYS.find((each) => each.name === name);
      while (key !== undefined && !isEnded) {
        const probed = () =>
          probeKey(key, 'transfer', { server: address, zone }, Date.now, PATIENT);
        const first = await probed();
        const isReset = brand.dropsRequests === true && first.verdict === 'no response';
        const { verdict, reason } = isReset ? await probed() : first;
        count += 1;
        if ((verdict === 'good') !== isPermitted)
          wrong.push(`${name} in ${zone}: ${verdict}, ${reason}`);
        await pause(50);
      }
    }),
  );
  return {
    async end() {
      isEnded = true;
      await Promise.all(loops);
      expect(count).toBeGreaterThan(clients.length * servers.length);
      expect(wrong).toEqual([]);
      return count;
    },
  };
}
