import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listName, RIGHTS, type Right } from '../../src/access/rights.ts';
import { desire } from '../../src/delivery/desire.ts';
import { byMember, grantsOf } from '../../src/brands/desired-state.ts';
import { createSlicer } from '../../src/core/scheduling/slicer.ts';
import { grantList, grantsIn, type Grant } from '../../src/resources/grants.ts';
import type { Tsigkey } from '../../src/resources/tsigkey.ts';

const ZONES = ['a.test.', 'B.test.', 'c.test.', 'd.test.'];
const rights = fc.subarray([...RIGHTS], { minLength: 1 });
const grant: fc.Arbitrary<Grant> = fc.record({
  rights,
  zones: fc.oneof(fc.constant('all' as const), fc.subarray(ZONES, { minLength: 1 })),
});
const stated = fc.option(fc.array(grant, { maxLength: 4 }));

/** Returns whether a list of grants states a right in a zone. */
const states = (grants: readonly Grant[] | null, right: Right, zone: string) =>
  grants === null ||
  grants.some(
    (each) => each.rights.includes(right) && (each.zones === 'all' || each.zones.includes(zone)),
  );

test('the canonical form states the same as the list, and is its own canonical form', () => {
  fc.assert(
    fc.property(fc.array(grant, { maxLength: 4 }), (list) => {
      const canonical = grantList(grantsIn(list));
      for (const right of RIGHTS)
        for (const zone of [...ZONES, 'new.test.'])
          expect(states(canonical, right, zone)).toBe(states(list, right, zone));
      expect(grantList(grantsIn(canonical))).toEqual(canonical);
      const shuffled = list.toReversed().map((each) => ({
        rights: each.rights.toReversed(),
        zones: each.zones === 'all' ? each.zones : each.zones.toReversed(),
      }));
      expect(grantList(grantsIn(shuffled))).toEqual(canonical);
    }),
  );
});

test('access lists have a key exactly where its grants, its scope and the rights of the name server permit it', async () => {
  const keys = fc.array(fc.record({ grants: stated, scope: fc.constantFrom('all', ...ZONES) }), {
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(keys, rights, async (given, ceiling) => {
      const candidates = given.map(({ grants, scope }, index) => {
        const within = grants && grantsIn(grants.map((each) => ({ ...each })));
        const key = {
          id: String(index),
          name: `k${index}`,
          algorithm: 'hmac-sha256',
          version: 1,
          secret: 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
          created_at: String(index),
          granted: within && within.all,
        } as Tsigkey;
        // The rule about grants permits only zones in the scope of a key.
        const zones = [...(within?.zones ?? [])].filter(([id]) => scope === 'all' || id === scope);
        return {
          key,
          zones: scope === 'all' ? scope : [scope],
          zoneRights: new Map(zones),
        } as const;
      });
      const slicer = createSlicer(Date.now);
      const { state } = await desire({ rights: ceiling }, ZONES, candidates, slicer);
      expect(state.keys).toHaveLength(given.length);
      const lists = byMember(grantsOf(state, { rights: RIGHTS }));
      for (const [index, { grants, scope }] of given.entries())
        for (const right of RIGHTS)
          for (const zone of ZONES) {
            const own = lists.get(`k${index}`);
            const isListed =
              own?.has(listName(right)) === true ||
              own?.has(listName(right, zone.slice(0, -1).toLowerCase())) === true;
            const isInScope = scope === 'all' || scope === zone;
            expect(isListed).toBe(
              isInScope && ceiling.includes(right) && states(grants, right, zone),
            );
          }
    }),
  );
});
