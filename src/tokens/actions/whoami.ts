import { defineAction } from '../../resources/operations/action.ts';
import type { Caller } from '../../core/caller.ts';
import { EXAMPLE_ID } from '../../core/error-entry.ts';
import { anyText, array, nullable, timestamp, type ValueOf } from '../../core/field.ts';
import { described, responseObject, sequence } from '../../core/object.ts';
import { DEFAULT_POLICY, may, type Policy } from '../../resources/policy.ts';
import { token } from '../../resources/token.ts';

function limitMember(description: string) {
  return described(nullable(array(anyText(), 1, 100)), description);
}

const WHOAMI = responseObject({
  id: described(
    anyText(),
    "The id of the token, or of the user in Keystone. For `adminToken`, the id is 'configured'.",
  ),
  name: described(anyText(), 'The name of the token, or of the user in Keystone.'),
  roles: described(sequence(anyText()), 'The roles of the token.'),
  project_id: described(nullable(anyText()), 'The project of the token.'),
  rights: described(
    sequence(anyText()),
    'The rights that the roles grant and the limits of the token allow. The roles `member` and `reader` grant rights in the project only.',
  ),
  pools: limitMember(
    'The pools to which the token is limited. Null if the token is not limited to pools.',
  ),
  zones: limitMember(
    'The zones to which the token is limited. Null if the token is not limited to zones.',
  ),
  keys: limitMember(
    'The keys to which the token is limited. Null if the token is not limited to keys.',
  ),
  nameservers: limitMember(
    'The name servers to which the token is limited. Null if the token is not limited to name servers.',
  ),
  addresses: limitMember(
    'The networks from which the token is valid. Null if the token is valid from every address.',
  ),
  expires_at: described(
    nullable(timestamp()),
    'The time at which the token expires. Null if the token does not expire.',
  ),
});

export const whoami = defineAction({
  path: '/v2/whoami',
  method: 'GET',
  operationId: 'whoami',
  summary: 'Get the roles and rights of the caller',
  description: 'Returns the name, the project, the roles, the rights and the limits of the caller.',
  type: token,
  response: {
    kind: described(WHOAMI, 'The caller.'),
    schemaName: 'Whoami',
    description: 'The caller.',
    examples: {
      reader: {
        summary: 'A token with the role `reader`.',
        value: {
          id: EXAMPLE_ID,
          name: 'reporting',
          roles: ['reader'],
          project_id: null,
          rights: ['zones:list', 'zones:get'],
          pools: null,
          zones: null,
          keys: null,
          nameservers: null,
          addresses: ['192.0.2.0/24'],
          expires_at: '2027-01-31T12:00:00.000000',
        },
      },
    },
  },
  async run({ dependencies: { policy }, context: { caller } }) {
    return whoamiOf(policy, caller);
  },
});

export function whoamiOf(policy: Policy, caller: Caller): ValueOf<typeof WHOAMI> {
  const { id, name, roles, projectId, limits, addresses, expiresAt = null } = caller;
  return {
    id,
    name,
    roles,
    project_id: projectId,
    rights: Object.keys(DEFAULT_POLICY).filter((right) => may(policy, caller, right)),
    pools: limits?.pools ?? null,
    zones: limits?.zones ?? null,
    keys: limits?.keys ?? null,
    nameservers: limits?.nameservers ?? null,
    addresses: addresses?.list ?? null,
    expires_at: expiresAt,
  };
}
