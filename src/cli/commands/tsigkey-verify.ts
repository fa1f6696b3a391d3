import { InvalidArgumentError, Option, type Command } from 'commander';
import { isAbsoluteName } from '../../domain/text/dns-name.ts';
import type { Check } from '../../domain/dns/key-check.ts';
import { keyProblems } from '../../domain/key-formats/key.ts';
import type { NameServer } from '../../net/dns.ts';
import type { ConnectionFlags } from '../service/connection.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { connect, withConnectionFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { checkKey } from '../service/key-check.ts';
import { getKey } from '../service/key-requests.ts';
import { absoluteAsciiName } from '../flags/names.ts';
import { plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';

interface VerifyFlags extends ConnectionFlags {
  readonly server: NameServer;
  readonly zone: string;
  readonly transfer?: boolean;
  readonly update?: boolean;
}

/** Adds the command that checks whether a name server accepts a key. */
export function addVerify(tsigkey: Command, terminal: Terminal): void {
  const command = tsigkey
    .command('verify')
    .description(
      'send a name server a request signed with a key, and report whether the server accepts the key',
    )
    .argument('<tsigkey>', 'id or name of the tsigkey')
    .addOption(
      new Option(
        '--server <host[:port]>',
        'send the request to this name server; put an IPv6 address with a port in brackets',
      )
        .argParser(readServer)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--zone <zone>', 'send a request about this zone')
        .argParser(readZone)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--transfer',
        'request a transfer of the whole zone instead of sending a query',
      ).conflicts('update'),
    )
    .addOption(
      new Option(
        '--update',
        'request an update that changes nothing instead of sending a query',
      ).conflicts('transfer'),
    )
    .action(async (idOrName: string, flags: VerifyFlags) => {
      const key = await getKey(await connect(flags, terminal), idOrName);
      const problems = keyProblems(key);
      if (problems.length > 0)
        throw new CommandError(
          EXIT.refused,
          `No name server can use the key: ${problems.join('; ')}`,
        );
      const check: Check =
        flags.transfer === true ? 'transfer' : flags.update === true ? 'update' : 'query';
      const { verdict, reason, hint } = await checkKey(
        { key, server: flags.server, zone: flags.zone, check },
        terminal.now,
      );
      const text = plainText(`${verdict}: ${reason}`);
      if (verdict !== 'good')
        throw new CommandError(
          verdict === 'no response' ? EXIT.unreachable : EXIT.refused,
          text,
          hint,
        );
      terminal.out.write(`${text}\n`);
    });
  addExamples(withConnectionFlags(command), [
    'tsigil tsigkey verify transfer-key --server ns1.example.org --zone example.org',
    {
      command:
        "tsigil tsigkey verify transfer-key --server '[2001:db8::1]:5300' --zone example.org --transfer",
      purpose: 'also checks whether the key may transfer the zone',
    },
  ]);
}

/** Reads `host`, `host:port` or `[address]:port`. */
function readServer(text: string): NameServer {
  const [, bracketed, plain, port = '53'] =
    /^(?:\[([\da-f:.%\w]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? plain ?? (/^[\da-f:.]+$/i.test(text) ? text : undefined);
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new InvalidArgumentError('It must be a host, host:port or [address]:port.');
  return { host, port: Number(port) };
}

function readZone(text: string): string {
  const name = text === '.' ? text : absoluteAsciiName(text);
  if (name !== '.' && !isAbsoluteName(name))
    throw new InvalidArgumentError('It must be a domain name.');
  return name;
}
