import { token } from '../../resources/token.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { writeLine } from '../../cli/output/write-line.ts';
import { call, type Connection } from '../../cli/service/client.ts';
import { findPath, withHints, type Item } from '../../cli/service/resource-requests.ts';

export const tokenRevoke = defineCommand({
  name: 'revoke',
  aliases: ['delete', 'rm'],
  description: 'revoke tokens; the service then rejects requests with these tokens',
  argument: ['<token...>', 'ids or names of the tokens'],
  asks: 'when the command revokes the token in use',
  examples: ['tsigil token revoke reporting ci'],
  async run({ argument: idsOrNames, confirm, connect, terminal }) {
    const connection = await connect();
    const { id: idInUse } = await call(connection, 'GET', '/v2/whoami');
    const tokens = await findTokens(connection, idsOrNames);
    const own = tokens.find(({ id }) => id === idInUse);
    if (own !== undefined)
      await confirm(
        `Revoke ${tokens.length === 1 ? 'the token' : `${tokens.length} tokens`}?`,
        `Token '${String(own.name)}' is the token that this command uses.`,
      );
    // The token in use is last, because the command needs it to revoke the others.
    const others = tokens.filter((each) => each !== own);
    for (const { id, name } of own === undefined ? others : [...others, own]) {
      await call(connection, 'DELETE', `/v2/tokens/${String(id)}`);
      writeLine(terminal.out, `Revoked token '${String(name)}' (id ${String(id)}).`);
    }
  },
});

/** Returns the tokens, each only once. Throws `CommandError` if one does not exist. */
async function findTokens(connection: Connection, idsOrNames: readonly string[]): Promise<Item[]> {
  const found = new Map<unknown, Item>();
  for (const idOrName of idsOrNames) {
    const each = await withHints(token, async () =>
      call(connection, 'GET', await findPath(connection, token, idOrName)),
    );
    found.set(each.id, each);
  }
  return [...found.values()];
}
