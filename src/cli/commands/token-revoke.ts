import { ADMIN } from '../../domain/model/caller.ts';
import { normaliseUuid } from '../../domain/model/field.ts';
import { defineCommand } from '../flags/command.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { writeLine } from '../output/write-line.ts';
import { call, callWithHeaders, type Connection } from '../service/client.ts';
import { itemsOf, nextPath, type Item } from '../service/resource-requests.ts';

/** Asks for confirmation before a revocation that can lock out the operator. */
export const tokenRevoke = defineCommand({
  name: 'revoke',
  aliases: ['delete', 'rm'],
  description: 'revoke tokens; the service then rejects requests with these tokens',
  argument: ['<token...>', 'ids or names of the tokens'],
  asks: 'when the command revokes the token in use or the last administrator token',
  examples: ['tsigil token revoke reporting ci'],
  async run({ argument: idsOrNames, confirm, connect, terminal }) {
    const pattern = idsOrNames.find((idOrName) => idOrName.includes('*'));
    if (pattern !== undefined)
      throw new CommandError(
        EXIT.usage,
        `Invalid token name '${pattern}'. Use an id or a complete name.`,
      );
    const connection = await connect();
    const list = await listTokens(connection);
    const tokens = await findTokens(connection, idsOrNames, list);
    const warnings = revocationWarnings(tokens, list, terminal.now());
    const what = tokens.length === 1 ? 'the token' : `${tokens.length} tokens`;
    if (warnings.length > 0) await confirm(`Revoke ${what}?`, warnings.join(' '));
    for (const { id, name } of tokens) {
      await call(connection, 'DELETE', `/v2/tokens/${String(id)}`);
      writeLine(terminal.out, `Revoked token '${String(name)}' (id ${String(id)}).`);
    }
  },
});

/** All tokens, and the id of the token that this command uses, if the service returns this id. */
interface TokenList {
  readonly tokens: readonly Item[];
  readonly inUse: string | undefined;
}

async function listTokens(connection: Connection): Promise<TokenList> {
  const tokens: Item[] = [];
  let inUse: string | undefined;
  let path: string | undefined = '/v2/tokens?sort_key=name';
  while (path !== undefined) {
    const { content, header } = await callWithHeaders(connection, 'GET', path);
    inUse ??= header('x-tsigil-caller-id');
    tokens.push(...itemsOf(content, 'tokens'));
    path = nextPath(content, path, connection.url);
  }
  return { tokens, inUse };
}

/**
 * Returns the tokens with these ids or names, without duplicates. The token that this command uses
 * is last, because the command needs it to revoke the others. Throws `CommandError` if a token does
 * not exist.
 */
async function findTokens(
  connection: Connection,
  idsOrNames: readonly string[],
  { tokens, inUse }: TokenList,
): Promise<Item[]> {
  const found = new Map<string, Item>();
  for (const idOrName of idsOrNames) {
    const id = normaliseUuid(idOrName);
    const listed = tokens.find((token) =>
      id === undefined ? token.name === idOrName : token.id === id,
    );
    if (listed === undefined && id === undefined)
      throw new CommandError(
        EXIT.refused,
        `No token is named '${idOrName}'`,
        "Run 'tsigil token list' to list all tokens.",
      );
    const token = listed ?? (await call(connection, 'GET', `/v2/tokens/${id}`));
    found.set(String(token.id), token);
  }
  const isInUse = (token: Item) => Number(token.id === inUse);
  return [...found.values()].sort((one, other) => isInUse(one) - isInUse(other));
}

/**
 * Returns warnings about revoking `revoked` at `now`, in milliseconds since 1970. Each warning is a
 * sentence.
 */
function revocationWarnings(
  revoked: readonly Item[],
  { tokens, inUse }: TokenList,
  now: number,
): string[] {
  const own = revoked.find(({ id }) => id === inUse);
  const isRevoked = ({ id }: Item) => revoked.some((token) => token.id === id);
  const administrators = tokens.filter((token) => isAdministrator(token, now));
  // A caller whose token is not in the list is an administrator through a configured token or an
  // identity service.
  const hasOtherAccess = inUse !== undefined && !tokens.some(({ id }) => id === inUse);
  const isLast =
    administrators.some(isRevoked) && administrators.every(isRevoked) && !hasOtherAccess;
  return [
    ...(own === undefined
      ? []
      : [`Token '${String(own.name)}' is the token that this command uses.`]),
    ...(isLast ? ['No valid administrator token remains after the revocation.'] : []),
  ];
}

function isAdministrator({ roles, expires_at: expiresAt }: Item, now: number): boolean {
  const isValid = typeof expiresAt !== 'string' || Date.parse(`${expiresAt}Z`) > now;
  return (
    isValid && Array.isArray(roles) && roles.some((role) => String(role).toLowerCase() === ADMIN)
  );
}
