import fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ApiResponse, Client } from '../harness/client.ts';
import { expectError, problemsOf } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { randomCases } from '../harness/sizes.ts';
import {
  checkNames,
  clientFor,
  createTlds,
  createZone,
  primary,
  removeAll,
  secondary,
  zoneNamesOf,
  zonesOf,
  type Zone,
} from '../harness/zones.ts';

let service: TestService;
let member: Client;
beforeAll(async () => {
  service = await startTestService();
  member = await clientFor(service, ['member'], 'red');
});
afterEach(() => removeAll(service));

const ALL = { 'x-auth-all-projects': 'True' };

/** Creates a zone and deletes it again. Returns `ok` or the error message. */
async function creationOf(client: Client, body: Record<string, unknown>): Promise<string> {
  const response = await client.post('/v2/zones', body);
  if (response.status === 201) {
    await client.delete(`/v2/zones/${response.body.id}`);
    return 'ok';
  }
  return expectError(response, 400, 'invalid_zone_name');
}

const INVALID = /^Invalid TLD: no TLD entry for/;
const SAME = /^Zone name cannot be the same as a TLD/;

describe('zone creation', () => {
  test.each([
    [[], 'example.net.', /^ok$/],
    [['COM'], 'a.b.example.com.', /^ok$/],
    [['com'], 'example.net.', INVALID],
    [['uk', 'CO.UK'], 'Co.Uk.', SAME],
    [['com'], 'com.', /^More than one label/],
  ])(
    'with the entries %j, %s gets the same result for all callers and types of zones',
    async (entries, name, verdict) => {
      await createTlds(service, ...entries);
      for (const client of [member, service])
        for (const body of [primary(name), secondary(name)])
          expect(await creationOf(client, body)).toMatch(verdict);
      expect((await service.post('/v2/zones', primary(name), ALL)).status).toBe(
        String(verdict) === '/^ok$/' ? 201 : 400,
      );
    },
  );

  test('400 or 201 immediately after entries are created, renamed or deleted', async () => {
    const attempt = () => creationOf(member, primary('site.example.'));
    expect(await attempt()).toBe('ok');
    const id = (await createTlds(service, 'org')).get('org');
    expect(await attempt()).toMatch(INVALID);
    for (const name of ['ORG', 'example.'])
      expect((await service.post('/v2/tlds', { name })).status).toBeGreaterThan(399);
    expect(await attempt()).toMatch(INVALID);
    expect((await service.patch(`/v2/tlds/${id}`, { name: 'EXAMPLE' })).status).toBe(200);
    expect(await attempt()).toBe('ok');
    const whole = (await createTlds(service, 'site.example')).get('site.example');
    expect(await attempt()).toMatch(SAME);
    await service.delete(`/v2/tlds/${whole}`);
    expect(await attempt()).toBe('ok');
    await service.patch(`/v2/tlds/${id}`, { name: 'org', description: null });
    expect(await attempt()).toMatch(INVALID);
    await service.delete(`/v2/tlds/${id}`);
    expect(await attempt()).toBe('ok');
  });

  test('200 and 202 for existing zones whatever the TLD entries are, but new subzones are checked', async () => {
    const ids = await createTlds(service, 'net');
    const zones = [
      await createZone(member, primary('pre.net.')),
      await createZone(member, secondary('second.net.')),
    ];
    const read = async (): Promise<Zone[]> => zonesOf(await member.get('/v2/zones'));
    const net = `/v2/tlds/${ids.get('net')}`;
    const steps: (() => Promise<ApiResponse>)[] = [
      () => service.patch(net, { name: 'com' }),
      () => service.post('/v2/tlds', { name: 'pre.net' }),
      () => service.delete(net),
    ];
    for (const step of steps) {
      expect((await step()).status).toBeLessThan(300);
      expect(await read()).toEqual(zones);
    }
    expect(await creationOf(member, primary('sub.pre.net.'))).toMatch(INVALID);
    expect((await member.patch(`/v2/zones/${zones[0]?.id}`, { ttl: 5 })).status).toBe(200);
    expect((await member.delete(`/v2/zones/${zones[0]?.id}`)).status).toBe(202);
    expect(await creationOf(member, primary('pre.net.'))).toMatch(INVALID);
  });
});

describe('the name check', () => {
  test('200 with the result for each name, in order, with or without a trailing dot', async () => {
    expect(await checkNames(member, ['a.com.', 'com', 'a_b.c'])).toEqual([
      'ok',
      'more_than_one_label',
      'ok',
    ]);
    await createTlds(service, 'uk', 'co.uk', 'com');
    const expected = {
      'a.COM': 'ok',
      'com.': 'more_than_one_label',
      'co.uk': 'not_a_tld',
      'a.org.': 'tld_entry',
      'a..com.': 'domain_name',
      'рф.': 'domain_name',
      '': 'domain_name',
      'a.com..': 'domain_name',
    };
    expect(await checkNames(member, Object.keys(expected))).toEqual(Object.values(expected));
    const [check] = (await member.post('/v2/tlds/check', { names: ['a.org.'] })).body.checks;
    expect(check.message).toMatch(INVALID);
  });

  test('200 for 1,000 names, 400 for 1,001 names and for an empty list', async () => {
    await createTlds(service, 'even');
    const names = Array.from(
      { length: 1000 },
      (_, index) => `zone-${index}.${index % 2 === 0 ? 'even' : 'odd'}.`,
    );
    expect(await checkNames(member, names)).toEqual(
      names.map((_, index) => (index % 2 === 0 ? 'ok' : 'tld_entry')),
    );
    for (const bad of [[...names, 'a.b.'], []])
      expect(problemsOf(await member.post('/v2/tlds/check', { names: bad }))).toEqual([
        'names: items',
      ]);
  });

  test.each([[['a.b.', null]], [['a\0']], [['\ud800']]])('400 for the names %j', async (names) => {
    expect(problemsOf(await member.post('/v2/tlds/check', { names }))).toEqual(['names: type']);
  });
});

const RULE_OF_MESSAGE: Readonly<Record<string, string>> = {
  More: 'more_than_one_label',
  Invalid: 'tld_entry',
  Zone: 'not_a_tld',
};

/** Returns the rule that refused a creation, or `ok`. */
function ruleOf({ status, body }: ApiResponse): string | undefined {
  if (status === 201) return 'ok';
  return body.type === 'invalid_object'
    ? 'domain_name'
    : RULE_OF_MESSAGE[body.message.split(' ')[0]];
}

const label = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('a', 'B') },
  { weight: 1, arbitrary: fc.constant('-') },
);
const relativeName = (maxLength: number) =>
  fc.array(label, { minLength: 1, maxLength }).map((labels) => labels.join('.'));
const anyNames = fc.uniqueArray(relativeName(3), {
  minLength: 1,
  maxLength: 8,
  selector: (name) => name.toLowerCase(),
});

test.each(['last-label', 'any-suffix'])(
  'under the rule %s, the name check, the filter outside_tlds and creations agree for any names and entries',
  { timeout: 180_000 },
  async (rule) => {
    const ruled = await startTestService({ TSIGIL_ZONES_TLD_RULE: rule });
    const createAll = async (names: readonly string[]) => {
      const rules: (string | undefined)[] = [];
      for (const name of names)
        rules.push(ruleOf(await ruled.post('/v2/zones', primary(`${name}.`))));
      return rules;
    };
    const seen = new Set<string | undefined>();
    const anyEntries = fc.array(relativeName(2), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(anyEntries, anyNames, async (entries, names) => {
        await createAll(names);
        for (const name of entries) await ruled.post('/v2/tlds', { name });
        const outcomes = await checkNames(ruled, names);
        const existing = zoneNamesOf(await ruled.get('/v2/zones'));
        expect(zoneNamesOf(await ruled.get('/v2/zones?outside_tlds=true'))).toEqual(
          existing.filter((name) => outcomes[names.indexOf(name.slice(0, -1))] !== 'ok'),
        );

        await removeAll(ruled);
        for (const name of entries) await ruled.post('/v2/tlds', { name });
        expect(await createAll(names)).toEqual(outcomes);
        await removeAll(ruled);
        for (const outcome of outcomes) seen.add(outcome);
      }),
      // The example has a name for each outcome.
      {
        numRuns: randomCases(30),
        examples: [
          [
            ['a', 'B.a'],
            ['-.a', 'a', 'a.B', 'a.a', 'B.a'],
          ],
        ],
      },
    );
    expect([...seen].sort()).toEqual([
      'domain_name',
      'more_than_one_label',
      'not_a_tld',
      'ok',
      'tld_entry',
    ]);
  },
);
