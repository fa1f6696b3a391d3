import { describe, expect, test } from 'vitest';
import type { KeyOnServer } from '../../src/delivery/delivery-ports.ts';
import { NOTHING_KNOWN } from '../../src/rotation/clients.ts';
import { nextStep, type RotatingKey, type RotationFacts } from '../../src/rotation/step.ts';

const NOW = '2030-01-31T12:00:00.000000';
const LATER = '2030-02-07T12:00:00.000000';
const EARLIER = '2030-01-24T12:00:00.000000';

const ROW: RotatingKey = {
  state: 'switching',
  overlap_seconds: 604_800,
  retire: null,
  retire_at: null,
  started_at: EARLIER,
  confirmed: [],
  confirmed_all: false,
  waiting_reason: null,
  waiting_for: [],
  waiting_since: null,
};

/** A key with one name server whose log shows every use, and that no client uses. */
const IDLE: RotationFacts = {
  now: NOW,
  unverifiedServers: [],
  consumers: [],
  unknownOn: [],
  remainingClients: [],
  users: [],
  successorUsers: [],
  references: [],
};

const PROCEEDS = { waiting_reason: null, waiting_for: [], waiting_since: null };
const waits = (reason: string, ...who: string[]) => ({
  waiting_reason: reason,
  waiting_for: who,
  waiting_since: NOW,
});
const RETIRES = 'retires';
const BACK = { state: 'spreading', verified_at: null, retire_at: null };
const DRAINS = { state: 'draining', ...PROCEEDS, retire_at: LATER };
const missing = { name: 'ns-two', hasMoved: false };
const moved = { name: 'ns-one', hasMoved: true };
const OVER = { state: 'draining', retire_at: EARLIER } as const;

type Case = [
  what: string,
  row: Partial<RotatingKey>,
  facts: Partial<RotationFacts>,
  expected: object | string,
];

const CASES: readonly Case[] = [
  [
    'a successor that was just created spreads',
    { state: 'spreading', started_at: NOW },
    { unverifiedServers: ['ns1'] },
    { ...BACK, ...PROCEEDS },
  ],
  [
    'a successor that a server lacks after a minute makes the rotation wait',
    { state: 'spreading' },
    { unverifiedServers: ['ns1'] },
    { ...BACK, ...waits('not_verified', 'ns1') },
  ],
  [
    'a wait goes on since its beginning',
    { state: 'spreading', waiting_reason: 'not_verified', waiting_since: EARLIER },
    { unverifiedServers: ['ns1', 'ns2'] },
    { ...BACK, ...waits('not_verified', 'ns1', 'ns2'), waiting_since: EARLIER },
  ],
  [
    'a successor that all servers accept is handed out',
    { state: 'spreading' },
    {},
    { state: 'switching', verified_at: NOW, ...PROCEEDS },
  ],
  [
    'a server that loses the successor stops the switch',
    { state: 'switching' },
    { unverifiedServers: ['ns1'] },
    { ...BACK, ...waits('not_verified', 'ns1') },
  ],
  [
    'a server that loses the successor clears the time of retirement',
    { state: 'draining', retire_at: LATER },
    { unverifiedServers: ['ns1'] },
    { ...BACK, ...waits('not_verified', 'ns1') },
  ],
  [
    'a server that loses the successor stops the retirement',
    OVER,
    { unverifiedServers: ['ns1'] },
    { ...BACK, ...waits('not_verified', 'ns1') },
  ],
  ['a key that no client uses drains', {}, {}, DRAINS],
  [
    'clients that were not seen with the successor are missing',
    {},
    { remainingClients: ['192.0.2.1'] },
    waits('unconfirmed', '192.0.2.1'),
  ],
  [
    'a log that does not show every use proves nothing',
    {},
    { unknownOn: ['ns1'] },
    waits('unknown_consumers', 'ns1'),
  ],
  ['no name server proves nothing', {}, { unknownOn: null }, waits('unknown_consumers')],
  [
    'the request for automatic retirement accepts this',
    { retire: 'automatic' },
    { unknownOn: ['ns1'] },
    DRAINS,
  ],
  [
    'but not a client that is seen',
    { retire: 'automatic' },
    { remainingClients: ['192.0.2.1'] },
    waits('unconfirmed', '192.0.2.1'),
  ],
  [
    'a confirmation for all ends the switch',
    { confirmed_all: true },
    { unknownOn: ['ns1'] },
    DRAINS,
  ],
  [
    'each named consumer must be confirmed or seen',
    {},
    { consumers: [moved, missing], unknownOn: ['ns1'] },
    waits('unconfirmed', 'ns-two'),
  ],
  [
    'a confirmation of each named consumer ends the switch',
    { confirmed: ['ns-two'] },
    { consumers: [moved, missing], unknownOn: ['ns1'] },
    DRAINS,
  ],
  ['manual retirement does not change the switch', { retire: 'manual' }, {}, DRAINS],
  [
    'a key drains until its time',
    { state: 'draining', retire_at: LATER },
    { users: ['192.0.2.1'] },
    PROCEEDS,
  ],
  ['a key whose time is over is retired', OVER, {}, RETIRES],
  ['a key whose time is just over is retired', { ...OVER, retire_at: NOW }, {}, RETIRES],
  ['also if its logs show nothing', OVER, { unknownOn: ['ns1'] }, RETIRES],
  ['a client keeps the key', OVER, { users: ['192.0.2.1'] }, waits('in_use', '192.0.2.1')],
  [
    'a line that names the key keeps it',
    OVER,
    { references: ['ns1: /etc/bind/named.conf:3'] },
    waits('referenced', 'ns1: /etc/bind/named.conf:3'),
  ],
  ['manual retirement waits for a request', { ...OVER, retire: 'manual' }, {}, waits('manual')],
];

describe('the next step of a rotation', () => {
  test.each(CASES)('%s', (_, row, facts, expected) => {
    const step = nextStep({ ...ROW, ...row }, { ...IDLE, ...facts });
    expect(step.retire ? RETIRES : step.row).toEqual(expected);
  });

  test('waits for people if nothing is known of clients', async () => {
    const window = { now: NOW, windowMs: 1, overlapMs: 1 };
    const on = (...names: string[]) => ({
      id: '',
      places: names.map((name) => ({ server: { name } }) as KeyOnServer),
    });
    for (const names of [[], ['ns1']]) {
      const known = await NOTHING_KNOWN.clientsOf(on(...names), on('ns1'), window);
      const step = nextStep(ROW, { ...IDLE, ...known });
      expect(step).toEqual({ retire: false, row: waits('unknown_consumers', ...names) });
      expect(known.successorUsers).toBeNull();
    }
  });

  test('a key is retired only while its successor is verified, whatever else is known', () => {
    const values = <T>(...all: T[]) => all;
    for (const unverifiedServers of values<string[]>([], ['ns1']))
      for (const state of values('spreading', 'switching', 'draining'))
        for (const retireAt of values(null, EARLIER, LATER))
          for (const users of values<string[]>([], ['192.0.2.1'])) {
            const row = { ...ROW, state, retire_at: retireAt, confirmed_all: true } as RotatingKey;
            const { retire } = nextStep(row, { ...IDLE, unverifiedServers, users });
            const isOver = state === 'draining' && retireAt === EARLIER;
            expect(retire).toBe(isOver && unverifiedServers.length === 0 && users.length === 0);
          }
  });
});
