import { Option, type Command } from 'commander';
import { SHARED, WITHDRAWN } from '../../../domain/actions/key-share.ts';
import { EXPORT_FORMATS, SIDES, type Receiver } from '../../../domain/export-formats/formats.ts';
import { tsigkey } from '../../../domain/resources/tsigkey.ts';
import { connect, withConnectionFlags } from '../../flags/flags.ts';
import { addExamples } from '../../flags/help.ts';
import { readDuration } from '../../flags/time.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Terminal } from '../../output/terminal.ts';
import { callFor, type Connection } from '../../service/client.ts';
import type { ConnectionFlags } from '../../service/connection.ts';
import { currentKey, findLineage, keyPath } from '../../service/lineages.ts';
import { findPath, withHints } from '../../service/resource-requests.ts';

interface ShareFlags extends ConnectionFlags, Receiver {
  readonly format: string;
  readonly expires?: string;
  readonly current?: true;
}

/** Adds the commands that hand a key over by a link, and that withdraw such links. */
export function addKeyShare(parent: Command, terminal: Terminal): void {
  const share = parent
    .command('share')
    .description('create a link that shows a tsigkey once, for someone without a token')
    .argument('<tsigkey>', 'id or name of the tsigkey')
    .addOption(
      new Option('--format <format>', 'show the key in the format of this program')
        .choices(Object.keys(EXPORT_FORMATS))
        .makeOptionMandatory(),
    )
    .option('--expires <time>', 'how long the link works, such as 2d; at most 7d (default: 7d)')
    .option('--current', 'share the key to use now instead of one that it replaces')
    .addOption(
      new Option(
        '--for <side>',
        'show what this side of a transfer needs: the one that accepts requests, or a secondary server (default: primary)',
      ).choices([...SIDES]),
    )
    .option(
      '--primary <address>',
      'with --for secondary: the address of the primary server, such as 192.0.2.53 or [2001:db8::53]:5300',
    )
    .option(
      '--zone <zone>',
      'with --for secondary: the zone to transfer (default: an example as a comment)',
    )
    .action(async (idOrName: string, flags: ShareFlags) => {
      const { format, expires, for: side, primary, zone, current } = flags;
      const body = {
        format,
        for: side,
        primary,
        zone,
        expires_seconds: expires === undefined ? undefined : readDuration(expires),
      };
      const connection = await connect(flags, terminal);
      const { url, expires_at: until } = await withHints(tsigkey, async () => {
        const path = await pathTo(connection, idOrName, current);
        return callFor(SHARED, connection, 'POST', `${path}/share`, body);
      });
      terminal.out.write(`${plainText(url)}\n`);
      terminal.err.write(
        `The link shows the key once, until ${until}. Withdraw it with: tsigil tsigkey unshare ${plainText(idOrName)}\n`,
      );
    });
  addExamples(withConnectionFlags(share), [
    'tsigil tsigkey share transfer --format bind --expires 2d',
    {
      command:
        'tsigil tsigkey share transfer --current --format knot --for secondary --primary 192.0.2.53 --zone example.org',
      purpose: 'what the operator of a secondary server needs',
    },
  ]);
  const unshare = parent
    .command('unshare')
    .description('withdraw all links to a tsigkey that still work')
    .argument('<tsigkey>', 'id or name of the tsigkey')
    .action(async (idOrName: string, flags: ConnectionFlags) => {
      const connection = await connect(flags, terminal);
      const { count } = await withHints(tsigkey, async () => {
        const path = await findPath(connection, tsigkey, idOrName);
        return callFor(WITHDRAWN, connection, 'POST', `${path}/unshare`, {});
      });
      terminal.out.write(`${count} ${count === 1 ? 'link' : 'links'} withdrawn\n`);
    });
  addExamples(withConnectionFlags(unshare), ['tsigil tsigkey unshare transfer']);
}

async function pathTo(
  connection: Connection,
  idOrName: string,
  current: boolean | undefined,
): Promise<string> {
  return current === true
    ? keyPath(currentKey(await findLineage(connection, idOrName)).id)
    : findPath(connection, tsigkey, idOrName);
}
