import type { Command } from 'commander';
import { ADMIN } from '../../domain/model/caller.ts';
import { normaliseUuid } from '../../domain/model/field.ts';
import { call, callWithHeaders, type Connection } from '../service/client.ts';
import { declareDestructive, type ConfirmationFlags } from '../output/confirmation.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { connect, withConnectionFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { plainText } from '../output/plain-text.ts';
import { itemsOf, nextPath, type Item } from '../service/resource-requests.ts';
import type { Terminal } from '../output/terminal.ts';

/**
 * Adds `revoke` to the commands for tokens, with the alias `delete`. The command asks for
 * confirmation before a revocation that can lock out the operator.
 */
export function addTokenRevoke(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('revoke')
    .aliases(['delete', 'rm'])
    .description('revoke tokens; the service then rejects requests with these tokens')
    .argument('<token...>', 'ids or names of the tokens');
  const confirm = declareDestructive(
    command,
    'when the command revokes the token in use or the last administrator token',
  );
  command.action(async (idsOrNames: string[], flags: ConnectionFlags & ConfirmationFlags) => {
    const pattern = idsOrNames.find((idOrName) => idOrName.includes('*'));
    if (pattern !== undefined)
      throw new CommandError(
        EXIT.usage,
        `Invalid token name '${pattern}'. Use an id or a complete name.`,
      );
    const connection = await connect(flags, terminal);
    const list = await listTokens(connection);
    const tokens = await findTokens(connection, idsOrNames, list);
    const warnings = revocationWarnings(tokens, list, terminal.now());
    if (warnings.length > 0)
      await confirm(
        `Revoke ${tokens.length === 1 ? 'the token' : `${tokens.length} tokens`}?`,
        flags,
        terminal,
        warnings.join(' '),
      );
    for (const { id, name } of tokens) {
      await call(connection, 'DELETE', `/v2/tokens/${String(id)}`);
      terminal.out.write(`${plainText(`Revoked token '${String(name)}' (id ${String(id)}).`)}\n`);
    }
  });
  addExamples(withConnectionFlags(command), ['tsigil token revoke reporting ci']);
}

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
