import { defineAction, type ActionRequest } from './action.ts';
import { allPages } from '../model/pages.ts';
import { EXAMPLE_ID } from '../model/error-entry.ts';
import type { Caller } from '../model/caller.ts';
import { anyText, nullable, timestamp } from '../model/field.ts';
import { described, responseObject, sequence } from '../model/object.ts';
import type { Condition } from '../model/query.ts';
import { revealRight } from '../model/response.ts';
import { existing } from '../operations/visibility.ts';
import { AGENT_RIGHTS, isWithinLimits, limitsOf } from '../resources/limits.ts';
import { AGENT_ROLE, may, requireRight, rolesOf, type Policy } from '../resources/policy.ts';
import { isGenuine, token, type Token } from '../resources/token.ts';
import { tsigkey, type Tsigkey } from '../resources/tsigkey.ts';
import { limitMember } from './whoami.ts';

const RIGHT = `${token.collection}:list`;
const [DESIRED] = AGENT_RIGHTS;
const REVEAL = revealRight(tsigkey) ?? '';
const CREATE_TOKENS = `${token.collection}:create`;

/** The rights whose responses show a key, with its secret if the caller has `REVEAL`. */
const SHOWING = ['list', 'get', 'update'].map((operation) => `${tsigkey.collection}:${operation}`);

const TOKENS_PER_READ = 500;

const rights = described(
  sequence(anyText()),
  `Why: \`${REVEAL}\` shows secrets, \`${DESIRED}\` gives agents the keys of their name servers, and with \`${CREATE_TOKENS}\` a caller can create a token with any right.`,
);

const ACCESS = responseObject({
  tokens: described(
    sequence(
      responseObject({
        id: described(anyText(), 'The id of the token.'),
        name: described(anyText(), 'The name of the token.'),
        roles: described(sequence(anyText()), 'The roles of the token.'),
        rights,
        pools: limitMember('The pools to which the token is limited, or null.'),
        zones: limitMember('The zones to which the token is limited, or null.'),
        keys: limitMember('The keys to which the token is limited, or null.'),
        nameservers: limitMember('The name servers to which the token is limited, or null.'),
        addresses: limitMember('The networks from which the token is valid, or null.'),
        expires_at: described(nullable(timestamp()), 'The time at which the token expires.'),
        last_used_at: described(nullable(timestamp()), 'The time of the last request with it.'),
      }),
    ),
    'The valid tokens of the service, sorted by name.',
  ),
  roles: described(
    sequence(responseObject({ role: described(anyText(), 'The name of the role.'), rights })),
    'The roles of the policy, for callers without such a token: users of Keystone, and `admin` for `adminToken`.',
  ),
});

const RESPONSE = {
  kind: described(ACCESS, 'The tokens and roles that can read secrets.'),
  description: 'The tokens and roles.',
  examples: {
    one: {
      summary: 'One token and one role.',
      value: {
        tokens: [
          {
            id: EXAMPLE_ID,
            name: 'ci',
            roles: ['keymanager'],
            rights: [REVEAL],
            pools: null,
            zones: [EXAMPLE_ID],
            keys: null,
            nameservers: null,
            addresses: ['192.0.2.0/24'],
            expires_at: '2027-01-31T12:00:00.000000',
            last_used_at: '2026-11-21T09:30:00.000000',
          },
        ],
        roles: [{ role: 'admin', rights: [REVEAL, CREATE_TOKENS] }],
      },
    },
  },
};

/** The actions that show who can read secrets. */
export const ACCESS_ACTIONS = [
  defineAction({
    path: '/v2/access',
    method: 'GET',
    right: RIGHT,
    type: token,
    isLong: true,
    operationId: 'get_access',
    summary: 'List the tokens and roles that can read secrets',
    description:
      'Evaluates the policy, and the roles and limits of all tokens that are valid now. A token is listed if it can read the secret of any key.',
    response: { ...RESPONSE, schemaName: 'Access' },
    run: (request) => accessTo(request, undefined),
  }),
  defineAction({
    path: `/v2/${tsigkey.collection}/{id}/access`,
    method: 'GET',
    right: RIGHT,
    type: tsigkey,
    isLong: true,
    operationId: 'get_tsigkey_access',
    summary: 'List the tokens and roles that can read the secret of a TSIG key',
    description:
      'Like `/v2/access`, for one key: a token with limits is listed only if they include the key, and the token of an agent only if its name server should have the key. Also requires the right `tsigkeys:get`.',
    response: { ...RESPONSE, schemaName: 'TsigKeyAccess' },
    async run(request) {
      const { dependencies, context, id } = request;
      const { store, policy } = dependencies;
      requireRight(policy, context.caller, `${tsigkey.collection}:get`);
      const found = await store.get(tsigkey, id);
      return accessTo(request, await existing(store, tsigkey, context.caller, found));
    },
  }),
];

/** Returns who can read the secret of `key`, or of any key. */
async function accessTo(
  { dependencies, slicer }: Pick<ActionRequest, 'dependencies' | 'slicer'>,
  key: Tsigkey | undefined,
) {
  const { store, policy, clock, delivery } = dependencies;
  const places = key === undefined ? [] : await delivery.ofKey(key);
  const agents = places.filter(({ server }) => server.delivery === 'agent');
  const includes = async (right: string, { limits }: Caller): Promise<boolean> => {
    if (key === undefined) return true;
    if (right === DESIRED)
      return agents.some(({ server: { id } }) => limits?.nameservers?.includes(id) ?? true);
    return limits === undefined || isWithinLimits(limits, tsigkey, key, store);
  };
  const rightsTo = async (caller: Caller): Promise<string[]> => {
    const found: string[] = [];
    for (const right of readingRights(policy, caller))
      if (await includes(right, caller)) found.push(right);
    return found;
  };
  const isValid: Condition = {
    test: 'any',
    alternatives: [
      [{ field: 'expires_at', test: 'null' }],
      [{ field: 'expires_at', test: '>', value: clock() }],
    ],
  };
  const tokens = [];
  const pages = { conditions: [isValid], sortField: 'name', limit: TOKENS_PER_READ } as const;
  for await (const page of allPages(store, token, pages))
    for (const each of page) {
      if (slicer.isOver()) await slicer.next();
      const rights = isGenuine(each) ? await rightsTo(callerOf(each)) : [];
      const { id, name, roles, pools, zones, keys, nameservers, addresses } = each;
      const { expires_at, last_used_at } = each;
      const limits = { pools, zones, keys, nameservers, addresses };
      if (rights.length > 0)
        tokens.push({ id, name, roles, rights, ...limits, expires_at, last_used_at });
    }
  const roles = [];
  for (const role of rolesOf(policy)) {
    if (role === AGENT_ROLE) continue; // it needs a token with limits
    const rights = await rightsTo(callerOf({ ...NOBODY, name: role, roles: [role] }));
    if (rights.length > 0) roles.push({ role, rights });
  }
  return { tokens, roles };
}

/** Returns the rights with which a caller can read secrets, directly or with a token it creates. */
function readingRights(policy: Policy, caller: Caller): string[] {
  const has = (right: string) => may(policy, caller, right);
  return [
    ...(has(REVEAL) && SHOWING.some(has) ? [REVEAL] : []),
    ...[DESIRED, CREATE_TOKENS].filter(has),
  ];
}

type Holder = Pick<
  Token,
  'id' | 'name' | 'roles' | 'project_id' | 'pools' | 'zones' | 'keys' | 'nameservers'
>;

const NOBODY = {
  id: '',
  project_id: null,
  pools: null,
  zones: null,
  keys: null,
  nameservers: null,
};

function callerOf(holder: Holder): Caller {
  const { id, name, roles, project_id: projectId } = holder;
  const limits = limitsOf(holder);
  const caller = { id, name, roles, projectId, allProjects: false };
  return limits === undefined ? caller : { ...caller, limits };
}
