import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ApiResponse } from '../harness/client.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { randomCases } from '../harness/sizes.ts';
import { checkNames, primary, removeAll, zoneNamesOf } from '../harness/zones.ts';

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
const names = fc.uniqueArray(relativeName(3), {
  minLength: 1,
  maxLength: 8,
  selector: (name) => name.toLowerCase(),
});

describe.each(['last-label', 'any-suffix'])('rule %s', (rule) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ TSIGIL_ZONES_TLD_RULE: rule });
  });

  /** Requests a zone for each name. Returns the outcome of each request. */
  async function createAll(zoneNames: readonly string[]): Promise<(string | undefined)[]> {
    const rules: (string | undefined)[] = [];
    for (const name of zoneNames)
      rules.push(ruleOf(await service.post('/v2/zones', primary(`${name}.`))));
    return rules;
  }

  test('the name check, the filter outside_tlds and creations agree for random names and entries', async () => {
    const seen = new Set<string | undefined>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(relativeName(2), { maxLength: 4 }),
        names,
        async (entries, zoneNames) => {
          await createAll(zoneNames);
          for (const name of entries) await service.post('/v2/tlds', { name });
          const outcomes = await checkNames(service, zoneNames);
          const existing = zoneNamesOf(await service.get('/v2/zones'));
          const outside = zoneNamesOf(await service.get('/v2/zones?outside_tlds=true'));
          expect(outside).toEqual(
            existing.filter((name) => outcomes[zoneNames.indexOf(name.slice(0, -1))] !== 'ok'),
          );

          await removeAll(service);
          for (const name of entries) await service.post('/v2/tlds', { name });
          expect(await createAll(zoneNames)).toEqual(outcomes);
          await removeAll(service);
          for (const outcome of outcomes) seen.add(outcome);
        },
      ),
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
  }, 180_000);
});
