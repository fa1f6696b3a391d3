import { LIMIT_KINDS, type Caller, type LimitKind } from '../core/caller.ts';
import { ServiceError, type Problem } from '../core/errors.ts';
import type { Reader } from '../core/ports.ts';
import type { Admission, Draft } from '../core/resource.ts';
import { typeOfLimit } from './limits.ts';
import { AGENT_ROLE } from './policy.ts';
import { token, type Token } from './token.ts';
import { isCovered } from '../core/text/networks.ts';

type NewToken = Draft<(typeof token)['fields']>;

/**
 * Checks the roles and limits of a new token. Throws `invalid_object` for unknown roles and ids.
 * Throws `outside_limits` if the token would have more access than its creator.
 */
export async function assertLimitsAllowed(
  created: NewToken,
  transaction: Reader,
  { caller, roles }: Pick<Admission, 'caller' | 'roles'>,
): Promise<void> {
  const problems = [
    ...roleProblems(created.roles, roles()),
    ...agentProblems(created),
    ...(await idProblems(created, transaction)),
  ];
  if (problems.length > 0) throw invalidToken(problems);
  await assertNotWider(created, caller, transaction);
}

export function invalidToken(problems: readonly Problem[]): ServiceError {
  const messages = problems.map(({ message }) => message);
  return new ServiceError('invalid_object', { what: token.title, messages }, { problems });
}

/** Compares roles ignoring case. */
function roleProblems(roles: readonly string[], known: readonly string[]): Problem[] {
  return roles.flatMap((role, index) =>
    known.some((each) => each.toLowerCase() === role.toLowerCase())
      ? []
      : [
          {
            path: ['roles', index],
            message: `'roles' has the unknown role '${role}'. Use one of: ${known.join(', ')}`,
            validator: 'enum',
          },
        ],
  );
}

/** Without a limit to name servers, the token of an agent could read all keys. */
function agentProblems({ roles, nameservers }: NewToken): Problem[] {
  if (nameservers !== null || !roles.some((role) => role.toLowerCase() === AGENT_ROLE)) return [];
  const message = `'nameservers' must have the id of a name server, because the token has the role '${AGENT_ROLE}'`;
  return [{ path: ['nameservers'], message, validator: 'required' }];
}

async function idProblems(
  limited: Pick<Token, LimitKind>,
  transaction: Reader,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const kind of LIMIT_KINDS) {
    const ids = limited[kind] ?? [];
    const found = await transaction.present(typeOfLimit(kind), 'id', ids);
    for (const [index, id] of ids.entries()) {
      if (found.has(id)) continue;
      const message = `'${kind}' has the unknown id '${id}'. Use the id of an existing ${typeOfLimit(kind).title}`;
      problems.push({ path: [kind, index], message, validator: 'reference' });
    }
  }
  return problems;
}

/**
 * Throws `outside_limits` if a new token has more access than the limits of its creator allow. Of
 * the limited tokens, only a token limited to addresses can create tokens, because other limits
 * exclude the right. The networks and roles of the new token must be within those of the creator.
 * The project must be the creator's project or null. A stolen token therefore grants no access from
 * other networks. `originOf` limits the expiry.
 */
async function assertNotWider(
  created: NewToken,
  caller: Caller,
  transaction: Reader,
): Promise<void> {
  if (caller.addresses === undefined) return;
  const { list } = caller.addresses;
  const isInside = (value: string, own: readonly string[]) =>
    own.some((each) => each.toLowerCase() === value.toLowerCase());
  if (created.addresses?.every((network) => isCovered(network, list)) !== true)
    throw new ServiceError('outside_limits', `addresses outside ${list.join(', ')}`);
  if (!created.roles.every((role) => isInside(role, caller.roles)))
    throw new ServiceError('outside_limits', `roles other than ${caller.roles.join(', ')}`);
  if (created.project_id === null) return;
  // A header may have replaced the project of the caller.
  const creator = await transaction.get(token, caller.id);
  if (created.project_id !== creator?.project_id)
    throw new ServiceError('outside_limits', 'another project');
}
