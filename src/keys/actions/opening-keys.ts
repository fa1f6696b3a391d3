import { RIGHTS, type Right } from '../../access/rights.ts';
import type { Caller } from '../../core/caller.ts';
import { EXAMPLE_ID } from '../../core/error-entry.ts';
import type { Reader } from '../../core/ports.ts';
import type { AnyOf, FieldCondition } from '../../core/query.ts';
import { getResource } from '../../resources/operations/collection.ts';
import { listConditions } from '../../resources/operations/visibility.ts';
import { OPENING_KEYS, rightsInText, SHOWN_KEYS } from '../../resources/grants.ts';
import { nameServer, type NameServer } from '../../resources/name-server.ts';
import { tsigkey, type Tsigkey } from '../../resources/tsigkey.ts';
import { zone } from '../../resources/zone.ts';
import { defineAction } from '../../resources/operations/action.ts';

const RESPONSE = {
  kind: OPENING_KEYS,
  schemaName: 'OpeningKeys',
  description: 'The keys.',
  examples: {
    one: {
      summary: 'One key.',
      value: {
        keys: [
          {
            id: EXAMPLE_ID,
            name: 'transfer-key',
            opens: [{ rights: ['transfer'], zones: 'all' } as const],
          },
        ],
        more: 0,
      },
    },
  },
} as const;

const inScope = (scope: Tsigkey['scope'], id: string): FieldCondition[] => [
  { field: 'scope', test: '=', value: scope },
  { field: 'resource_id', test: '=', value: id },
];

/** Returns the conditions that grants permit something in the whole scope of a key. */
const opensAll = (scope: readonly FieldCondition[]): FieldCondition[][] => [
  [...scope, { field: 'granted', test: 'null' }],
  [...scope, { field: 'granted', test: '<>', value: '' }],
];

export const OPENING_KEYS_ACTIONS = [
  defineAction({
    path: `/v2/${zone.collection}/{id}/${tsigkey.collection}`,
    method: 'GET',
    right: `${tsigkey.collection}:list`,
    operationId: 'list_zone_tsigkeys',
    summary: 'List the TSIG keys that open a zone',
    description:
      'Returns the keys that may do something with the zone, because of their scope and their grants.',
    type: zone,
    response: RESPONSE,
    async run({ dependencies, context: { caller }, id }) {
      const { pool_id: poolId } = await getResource(dependencies, zone, caller, id);
      const alternatives = [
        ...opensAll(inScope('POOL', String(poolId))),
        ...opensAll(inScope('ZONE', id)),
        [
          {
            field: 'id',
            test: 'in',
            values: [id],
            of: { collection: 'tsigkey_grants', field: 'zone_id', is: 'key_id' },
          } as const,
        ],
      ];
      return openingKeys(dependencies.store, caller, alternatives, RIGHTS, id);
    },
  }),
  defineAction({
    path: `/v2/${nameServer.collection}/{id}/${tsigkey.collection}`,
    method: 'GET',
    right: `${tsigkey.collection}:list`,
    operationId: 'list_nameserver_tsigkeys',
    summary: 'List the TSIG keys of a name server, with what they open',
    description:
      'Returns the keys of the pool and of its zones, with what each may do on the name server.',
    type: nameServer,
    response: RESPONSE,
    async run({ dependencies, context: { caller }, id }) {
      const found = await getResource(dependencies, nameServer, caller, id);
      const { pool_id: poolId, rights } = found as NameServer; // safe: the type is `nameServer`
      const ofZones: FieldCondition[] = [
        { field: 'scope', test: '=', value: 'ZONE' },
        {
          field: 'resource_id',
          test: 'in',
          values: [poolId],
          of: { collection: zone.collection, field: 'pool_id', is: 'id' },
        },
      ];
      const alternatives = [inScope('POOL', poolId), ofZones];
      return openingKeys(dependencies.store, caller, alternatives, rights, undefined);
    },
  }),
];

/**
 * Returns the first keys that the caller can see and that meet the conditions of one of
 * `alternatives`, with what they open as far as `rights` permit: in one zone, or in all.
 */
async function openingKeys(
  store: Reader,
  caller: Caller,
  alternatives: AnyOf['alternatives'],
  rights: readonly Right[],
  zoneId: string | undefined,
) {
  const conditions = listConditions(tsigkey, caller, [{ test: 'any', alternatives }]);
  const query = { sortField: 'name', descending: false, conditions };
  const keys = await store.list(tsigkey, { ...query, limit: SHOWN_KEYS });
  const ids = keys.filter(({ granted }) => granted !== null).map(({ id }) => id);
  const further = await store.grantedZones(ids, zoneId);
  const more =
    keys.length < SHOWN_KEYS ? 0 : (await store.count(tsigkey, conditions)) - keys.length;
  return {
    keys: keys.map(({ id, name, granted }) => {
      const zones = new Map<string, 'all' | number>();
      const within = (text: string) => rightsInText(text).filter((each) => rights.includes(each));
      zones.set(within(granted ?? RIGHTS.join(' ')).join(' '), 'all');
      for (const each of further) {
        const own = each.keyId === id ? within(each.rights).join(' ') : '';
        const known = zones.get(own) ?? 0;
        zones.set(own, known === 'all' ? known : known + each.zones);
      }
      zones.delete('');
      return {
        id,
        name,
        opens: [...zones].map(([text, count]) => ({ rights: rightsInText(text), zones: count })),
      };
    }),
    more: Math.max(0, more),
  };
}
