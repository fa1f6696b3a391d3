import { RIGHTS, type Right } from '../access/rights.ts';
import {
  anyText,
  array,
  enumeration,
  integer,
  list,
  nullable,
  uuid,
  type Kind,
} from '../core/field.ts';
import { described, list as objects, object, responseObject } from '../core/object.ts';

/** Rights of a key, in these zones or in all zones of its scope. */
export interface Grant {
  readonly rights: readonly Right[];
  readonly zones: 'all' | readonly string[];
}

/** The texts of all sets of rights, as the store keeps them. */
export const RIGHTS_TEXTS = ['', 'transfer', 'update', 'transfer update'] as const;
type RightsText = (typeof RIGHTS_TEXTS)[number];

/**
 * What a key may do on name servers: the rights that it has in every zone of its scope, and the
 * further rights that it has in single zones, by the ids of the zones. Without any, the key opens
 * nothing.
 */
export interface Grants {
  readonly all: RightsText;
  readonly zones: ReadonlyMap<string, string>;
}

const MAX_GRANTS = 16;
export const MAX_GRANTED_ZONES = 10_000;

const ZONE_IDS = list(uuid(), 1, MAX_GRANTED_ZONES);
const ZONES: Kind<Grant['zones']> = {
  schema: { anyOf: [{ type: 'string', const: 'all' }, ZONE_IDS.schema] },
  parse(value) {
    if (value === 'all') return { value };
    if (Array.isArray(value)) return ZONE_IDS.parse(value);
    return { problem: "must be 'all' or a list of the ids of zones", validator: 'type' };
  },
};

const GRANT = object({
  rights: described(list(enumeration(RIGHTS), 1, RIGHTS.length), 'What the key may do.'),
  zones: described(
    ZONES,
    'The ids of the zones in which the key has these rights, or `all` for every zone of its scope. Each zone must be in the scope of the key.',
  ),
});

/** Grants in requests and responses. Null means that the key has none of its own. */
export const GRANTS: Kind<readonly Grant[] | null> = nullable(array(GRANT, 0, MAX_GRANTS));

export const SHOWN_KEYS = 20;

const OPENED_ZONES: Kind<'all' | number> = {
  schema: { anyOf: [{ type: 'string', const: 'all' }, integer(1).schema] },
  parse: (value) => (value === 'all' ? { value } : integer(1).parse(value)),
};

/** The keys that open a zone, or zones of a name server. */
export const OPENING_KEYS = responseObject({
  keys: described(
    objects(
      responseObject({
        id: uuid(),
        name: anyText(),
        opens: described(
          objects(
            responseObject({
              rights: list(enumeration(RIGHTS), 1, RIGHTS.length),
              zones: described(OPENED_ZONES, 'The number of zones, or `all` for the whole scope.'),
            }),
          ),
          'The rights of the key, as far as a name server gives them.',
        ),
      }),
    ),
    `The first ${SHOWN_KEYS} keys by name.`,
  ),
  more: described(integer(0), 'The number of further keys.'),
});

export const KEY_GRANTS = responseObject({ grants: GRANTS });

/** Returns the grants that a list states. A key has a right if any grant of the list states it. */
export function grantsIn(stated: readonly Grant[]): Grants {
  const all = stated.flatMap(({ rights, zones }) => (zones === 'all' ? rights : []));
  const further = new Map<string, Right[]>();
  for (const { rights, zones } of stated)
    for (const id of zones === 'all' ? [] : zones) {
      const own = [...(further.get(id) ?? []), ...rights.filter((right) => !all.includes(right))];
      if (own.length > 0) further.set(id, own);
    }
  return {
    all: textOf(all),
    zones: new Map([...further].map(([id, rights]) => [id, textOf(rights)])),
  };
}

/** Returns what two states of the grants of a key both permit. Null permits everything. */
export function commonGrants(one: Grants | null, other: Grants | null): Grants | null {
  if (one === null || other === null) return one ?? other;
  const all = rightsInText(one.all).filter((right) => rightsInText(other.all).includes(right));
  const further = new Map<string, RightsText>();
  for (const id of [...one.zones.keys(), ...other.zones.keys()]) {
    const both = rightsInZone(one, id).filter((right) => rightsInZone(other, id).includes(right));
    const rights = textOf(both.filter((right) => !all.includes(right)));
    if (rights !== '') further.set(id, rights);
  }
  return { all: textOf(all), zones: further };
}

/**
 * Returns grants in their canonical form: for all zones first, then one entry for each set of
 * rights, with its zones sorted by id.
 */
export function grantList({ all, zones }: Grants): Grant[] {
  const bySet = new Map<string, string[]>();
  for (const [id, rights] of zones) {
    const ids = bySet.get(rights) ?? [];
    bySet.set(rights, ids);
    ids.push(id);
  }
  return [
    ...(all === '' ? [] : [{ rights: rightsInText(all), zones: 'all' } as const]),
    ...[...bySet]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([rights, ids]) => ({ rights: rightsInText(rights), zones: ids.sort() })),
  ];
}

function textOf(rights: readonly Right[]): RightsText {
  const text = RIGHTS.filter((right) => rights.includes(right)).join(' ');
  return RIGHTS_TEXTS.find((each) => each === text) ?? '';
}

export function rightsInZone({ all, zones }: Grants, id: string): Right[] {
  return rightsInText(`${all} ${zones.get(id) ?? ''}`);
}

export function rightsInText(text: string): Right[] {
  const names = text.split(' ');
  return RIGHTS.filter((right) => names.includes(right));
}

/** Returns the grants in a request to create a key, or undefined if it states none. */
export function givenGrants(request: object): Grants | null | undefined {
  // safe: the member is undefined or a value of `GRANTS`
  const { grants } = request as { readonly grants?: readonly Grant[] | null };
  return grants === undefined || grants === null ? grants : grantsIn(grants);
}

/** Grants in the audit trail: with the names of few zones, or the number of many. */
export function describeGrants(
  grants: Grants | null,
  nameOf: (id: string) => string,
): readonly object[] | null {
  if (grants === null) return null;
  return grantList(grants).map(({ rights, zones }) => {
    if (zones === 'all') return { rights, zones };
    return { rights, zones: zones.length > MAX_NAMED_ZONES ? zones.length : zones.map(nameOf) };
  });
}

const MAX_NAMED_ZONES = 20;
