import { resolve } from 'node:path';
import type { Command } from 'commander';
import { LIMIT_KINDS } from '../../domain/model/caller.ts';
import { checkColumns, connect, withConnectionFlags, withOutputFlags } from '../flags/flags.ts';
import { addExamples } from '../flags/help.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { printItem, printList, type OutputFlags } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import { readReplies } from '../output/prompt.ts';
import type { Terminal } from '../output/terminal.ts';
import { call, type Connection } from '../service/client.ts';
import { checkToken, checkUrl, DEFAULTS, type ConnectionFlags } from '../service/connection.ts';
import { readText } from '../service/input.ts';
import { profileNamed, readProfiles, writeProfiles } from '../service/profiles.ts';
import type { FormerFiles } from '../service/running-server.ts';
import { addStatus } from './status.ts';

const DEFAULT_PROFILE = 'default';

/**
 * Adds the commands that store profiles, and the commands that describe the service and the token
 * in use.
 */
export function addSessionCommands(
  program: Command,
  formerFiles: FormerFiles,
  terminal: Terminal,
): void {
  addLogin(program, terminal);
  addLogout(program, terminal);
  addWhoami(program, terminal);
  addStatus(program, formerFiles, terminal);
  addProfiles(program, terminal);
}

function addLogin(program: Command, terminal: Terminal): void {
  const command = program
    .command('login')
    .description(
      'check a service and a token, and store them as a profile in a file with mode 0600',
    )
    .summary('store the address of a service and a token')
    .option('--url <url>', 'store this URL (default: TSIGIL_URL, or the reply to a prompt)')
    .option('--token-file <file>', 'read the token from this file; - is standard input')
    .option('--cacert <file>', 'trust only the CA certificates in this PEM file')
    .option('--profile <name>', `store the profile under this name (default: ${DEFAULT_PROFILE})`)
    .action(async (flags: ConnectionFlags) => {
      const { environment, out } = terminal;
      const name = flags.profile ?? (environment.TSIGIL_PROFILE || DEFAULT_PROFILE);
      const { url, token } = await readCredentials(flags, terminal);
      const caFile = flags.cacert ?? (environment.TSIGIL_CACERT || undefined);
      const cacert = caFile === undefined ? undefined : resolve(caFile);
      const stored = readProfiles(environment);
      const profile = { url, token, ...(cacert === undefined ? {} : { cacert }) };
      const checked = { TSIGIL_URL: url, TSIGIL_TOKEN: token };
      const connection = await connect(
        { ...(cacert === undefined ? {} : { cacert }) },
        { ...terminal, environment: { ...environment, ...checked } },
      );
      await identify(connection);
      const path = writeProfiles(environment, {
        current: name,
        profiles: { ...stored.profiles, [name]: profile },
      });
      out.write(`Stored the profile '${plainText(name)}' for '${url}' in ${path}\n`);
    });
  addExamples(command, [
    'tsigil login',
    'tsigil login --profile staging --url https://dns.example.org --token-file staging.token',
  ]);
}

/** Returns the URL and the token from flags and variables, or else from the replies to prompts. */
async function readCredentials(
  flags: ConnectionFlags,
  terminal: Terminal,
): Promise<{ readonly url: string; readonly token: string }> {
  const { environment, input } = terminal;
  const givenUrl = flags.url ?? (environment.TSIGIL_URL || undefined);
  const file = flags.tokenFile;
  const givenToken = file === undefined ? environment.TSIGIL_TOKEN || undefined : undefined;
  if (file !== undefined || givenToken !== undefined) {
    const token = givenToken ?? (await readText(file ?? '', terminal)).trim();
    const source = file === '-' ? 'Standard input' : (file ?? 'TSIGIL_TOKEN');
    return { url: checkUrl(givenUrl ?? DEFAULTS.url), token: checkToken(token, source) };
  }
  if (input.isTTY !== true || terminal.err.isTTY !== true)
    throw new CommandError(
      EXIT.usage,
      'Cannot ask for the token: standard input or standard error is not a terminal',
      'Use --token-file FILE, or --token-file - to read the token from standard input.',
    );
  const prompts = [
    ...(givenUrl === undefined ? [{ text: `URL of the service [${DEFAULTS.url}]: ` }] : []),
    { text: 'Token (not shown): ', hidden: true },
  ];
  const replies = await readReplies(prompts, terminal);
  const url = givenUrl ?? (replies[0]?.trim() || DEFAULTS.url);
  return { url: checkUrl(url), token: checkToken(replies.at(-1)?.trim() ?? '', 'The reply') };
}

function addLogout(program: Command, { environment, out }: Terminal): void {
  const command = program
    .command('logout', { hidden: true })
    .description('remove a stored profile; the token stays valid until it is revoked')
    .summary('remove a stored profile')
    .option('--profile <name>', 'remove this profile (default: the current profile)')
    .action(({ profile }: ConnectionFlags) => {
      const stored = readProfiles(environment);
      const name = profile ?? (environment.TSIGIL_PROFILE || stored.current);
      if (name === undefined)
        throw new CommandError(EXIT.usage, 'No profile is stored', "Run 'tsigil login' first.");
      profileNamed(stored, name, "Run 'tsigil profile list' to list the stored profiles.");
      const others = Object.entries(stored.profiles).filter(([other]) => other !== name);
      const profiles = Object.fromEntries(others);
      const current = stored.current === name ? others[0]?.[0] : stored.current;
      writeProfiles(environment, { current, profiles });
      out.write(`Removed the profile '${plainText(name)}'. Its token is not revoked.\n`);
      if (current !== undefined && current !== stored.current)
        out.write(`The current profile is now '${plainText(current)}'.\n`);
    });
  addExamples(command, ['tsigil logout', 'tsigil logout --profile staging']);
}

const CALLER_COLUMNS = ['url', 'profile', 'id', 'name', 'roles', 'project_id', 'expires_at'];
const LIMIT_COLUMNS = [...LIMIT_KINDS, 'addresses'];
const LONG_CALLER_COLUMNS = [...CALLER_COLUMNS, ...LIMIT_COLUMNS, 'rights'];

function addWhoami(program: Command, terminal: Terminal): void {
  const command = program
    .command('whoami')
    .description(
      'show the service in use, and the token with its id, name, roles, project, expiry and limits',
    )
    .summary('show the service and the token in use')
    .option('--long', 'also show the rights; the formats json and yaml always contain the rights')
    .action(async (flags: ConnectionFlags & OutputFlags & { readonly long?: boolean }) => {
      checkColumns(flags, LONG_CALLER_COLUMNS);
      const connection = await connect(flags, terminal);
      const item: Readonly<Record<string, unknown>> = {
        url: connection.url,
        profile: connection.profile ?? null,
        ...(await identify(connection)),
      };
      const isLong = flags.long === true || ['json', 'yaml'].includes(flags.format ?? '');
      const limits = LIMIT_COLUMNS.filter((name) => (item[name] ?? null) !== null);
      const columns = isLong ? LONG_CALLER_COLUMNS : [...CALLER_COLUMNS, ...limits];
      printItem(terminal, item, columns, flags);
    });
  withConnectionFlags(withOutputFlags(command));
  addExamples(command, [
    'tsigil whoami',
    'tsigil whoami --long',
    'tsigil whoami --profile staging -f json',
  ]);
}

/**
 * Returns the service's description of the caller. Throws `CommandError` if the token is not valid.
 */
function identify(connection: Connection): Promise<Readonly<Record<string, unknown>>> {
  return call(connection, 'GET', '/v2/whoami');
}

function addProfiles(program: Command, terminal: Terminal): void {
  const parent = program
    .command('profile', { hidden: true })
    .description('list the stored profiles');
  addExamples(parent, ['tsigil profile list']);
  const list = parent
    .command('list')
    .description(
      'list the stored profiles without their tokens; the column current marks the current profile',
    )
    .action((flags: OutputFlags) => {
      const { current, profiles } = readProfiles(terminal.environment);
      const rows = Object.entries(profiles).map(([name, { url }]) => ({
        name,
        url,
        current: name === current,
      }));
      printList(terminal, rows, ['name', 'url', 'current'], flags);
    });
  addExamples(withOutputFlags(list), ['tsigil profile list', 'tsigil profile list -f json']);
}
