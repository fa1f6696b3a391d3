import type { Command } from 'commander';
import { call } from './client.ts';
import { declareDestructive, type ConfirmationFlags } from './confirmation.ts';
import type { ConnectionFlags } from './connection.ts';
import { CommandError, EXIT } from './errors.ts';
import { checkColumns, collect, connect, withConnectionFlags, withOutputFlags } from './flags.ts';
import { addExamples } from './help.ts';
import { formatItem, formatList, type OutputFlags } from './output.ts';
import { plainText } from './plain-text.ts';
import { lookOf, type Terminal } from './terminal.ts';
import { createToken, findTokens, listTokens, revocationWarnings, TOKEN_COLUMNS, type TokenRequest } from './token.ts';

type Flags = ConnectionFlags & OutputFlags;

/** Adds the commands about tokens. */
export function addTokenCommands(program: Command, terminal: Terminal): void {
  const { now, out, environment } = terminal;
  const token = program.command('token').description('make, list and revoke the tokens by which callers identify themselves');
  addExamples(token, [
    'tsigil token create --name terraform --role reader --expires 90d',
    'TOKEN=$(tsigil token create --name ci --role admin -f value)',
    'tsigil token revoke terraform',
  ]);
  const create = token
    .command('create')
    .description('make a token and show it, this once; with -f value, print the token alone')
    .requiredOption('--name <name>', 'who or what the token is for; shown in the log')
    .requiredOption('--role <role>', 'a role of the holder; may be given several times', collect)
    .option('--project <id>', 'the project that the holder acts for')
    .option('--expires <time>', 'when the token ends: 2030-01-31T12:00:00 (UTC), or from now: 90d, 12h, 30m')
    .action(async (flags: Flags & TokenRequest) => {
      const columns = [...TOKEN_COLUMNS, 'token'];
      checkColumns(flags, columns);
      const created = await createToken(await connect(flags, terminal), flags, now());
      out.write(formatItem(created, flags.format === 'value' ? ['token'] : columns, flags, lookOf(out, environment)));
    });
  addExamples(withConnectionFlags(withOutputFlags(create)), ['tsigil token create --name reporting --role reader --expires 90d']);
  const list = token
    .command('list')
    .description('list all tokens; the tokens themselves are never shown again')
    .action(async (flags: Flags) => {
      checkColumns(flags, TOKEN_COLUMNS);
      out.write(formatList((await listTokens(await connect(flags, terminal))).tokens, TOKEN_COLUMNS, flags, lookOf(out, environment)));
    });
  addExamples(withConnectionFlags(withOutputFlags(list)), ['tsigil token list -c name -c roles -c expires_at']);
  const revoke = token
    .command('revoke')
    .description('revoke tokens; requests with them are refused from then on')
    .argument('<token...>', 'ids or names');
  const confirm = declareDestructive(revoke, 'when this revokes the token in use or the last administrator token');
  revoke.action(async (idsOrNames: string[], flags: Flags & ConfirmationFlags) => {
    if (idsOrNames.some((idOrName) => idOrName.includes('*'))) throw new CommandError(EXIT.usage, 'A token is revoked by its id or its whole name');
    const connection = await connect(flags, terminal);
    const list = await listTokens(connection);
    const tokens = await findTokens(connection, idsOrNames, list);
    const warnings = revocationWarnings(tokens, list, now());
    if (warnings.length > 0)
      await confirm(`${warnings.join(' ')} Revoke ${tokens.length === 1 ? 'it' : `${tokens.length} tokens`}?`, flags, terminal);
    for (const { id, name } of tokens) {
      await call(connection, 'DELETE', `/v2/tokens/${String(id)}`);
      out.write(`${plainText(`Revoked token '${String(name)}' (id ${String(id)}).`)}\n`);
    }
  });
  addExamples(withConnectionFlags(revoke), ['tsigil token revoke reporting ci']);
}
