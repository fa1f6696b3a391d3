import { resolve } from 'node:path';
import { LIMIT_KINDS } from '../../core/caller.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { text, toggle } from '../../cli/flags/flag.ts';
import { connect } from '../../cli/flags/flags.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { printItem, printList } from '../../cli/output/output.ts';
import { readReplies } from '../../cli/output/prompt.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import { writeLine } from '../../cli/output/write-line.ts';
import { call } from '../../cli/service/client.ts';
import {
  checkToken,
  checkUrl,
  DEFAULTS,
  type ConnectionFlags,
} from '../../cli/service/connection.ts';
import { readText } from '../../cli/service/input.ts';
import { profileNamed, readProfiles, writeProfiles } from '../../cli/service/profiles.ts';

const DEFAULT_PROFILE = 'default';

const WHOAMI_PATH = '/v2/whoami';

export const login = defineCommand({
  name: 'login',
  description: 'check a service and a token, and store them as a profile in a file with mode 0600',
  summary: 'store the address of a service and a token',
  flags: {
    url: text('<url>', 'store this URL (default: TSIGIL_URL, or the reply to a prompt)'),
    tokenFile: text('<file>', 'read the token from this file; - is standard input'),
    cacert: text('<file>', 'trust only the CA certificates in this PEM file'),
    profile: text('<name>', `store the profile under this name (default: ${DEFAULT_PROFILE})`),
  },
  isLocal: true,
  examples: [
    'tsigil login',
    'tsigil login --profile staging --url https://dns.example.org --token-file staging.token',
  ],
  async run({ flags, terminal }) {
    const { environment } = terminal;
    const name = flags.profile ?? (environment.TSIGIL_PROFILE || DEFAULT_PROFILE);
    const { url, token } = await readCredentials(flags, terminal);
    const caFile = flags.cacert ?? (environment.TSIGIL_CACERT || undefined);
    const trusted = caFile === undefined ? {} : { cacert: resolve(caFile) };
    const checked = { TSIGIL_URL: url, TSIGIL_TOKEN: token };
    const connection = await connect(trusted, {
      ...terminal,
      environment: { ...environment, ...checked },
    });
    const stored = readProfiles(environment);
    await call(connection, 'GET', WHOAMI_PATH);
    const path = writeProfiles(environment, {
      current: name,
      profiles: { ...stored.profiles, [name]: { url, token, ...trusted } },
    });
    writeLine(terminal.out, `Stored the profile '${name}' for '${url}' in ${path}`);
  },
});

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

export const logout = defineCommand({
  name: 'logout',
  isHidden: true,
  description: 'remove a stored profile; the token stays valid until it is revoked',
  flags: { profile: text('<name>', 'remove this profile (default: the current profile)') },
  isLocal: true,
  examples: ['tsigil logout', 'tsigil logout --profile staging'],
  run({ flags: { profile }, terminal: { environment, out } }) {
    const stored = readProfiles(environment);
    const name = profile ?? (environment.TSIGIL_PROFILE || stored.current);
    if (name === undefined)
      throw new CommandError(EXIT.usage, 'No profile is stored', "Run 'tsigil login' first.");
    profileNamed(stored, name, "Run 'tsigil profile list' to list the stored profiles.");
    const others = Object.entries(stored.profiles).filter(([other]) => other !== name);
    const current = stored.current === name ? others[0]?.[0] : stored.current;
    writeProfiles(environment, { current, profiles: Object.fromEntries(others) });
    writeLine(out, `Removed the profile '${name}'. Its token is not revoked.`);
    if (current !== undefined && current !== stored.current)
      writeLine(out, `The current profile is now '${current}'.`);
  },
});

export const PROFILE = {
  name: 'profile',
  isHidden: true,
  description: 'list the stored profiles',
  examples: ['tsigil profile list'],
  commands: [
    defineCommand({
      name: 'list',
      description:
        'list the stored profiles without their tokens; the column current marks the current profile',
      columns: ['name', 'url', 'current'],
      isLocal: true,
      examples: ['tsigil profile list', 'tsigil profile list -f json'],
      run({ columns, flags, terminal }) {
        const { current, profiles } = readProfiles(terminal.environment);
        const rows = Object.entries(profiles).map(([name, { url }]) => ({
          name,
          url,
          current: name === current,
        }));
        printList(terminal, rows, columns, flags);
      },
    }),
  ],
};

const CALLER_COLUMNS = ['url', 'profile', 'id', 'name', 'roles', 'project_id', 'expires_at'];
const LIMIT_COLUMNS = [...LIMIT_KINDS, 'addresses'];

export const whoami = defineCommand({
  name: 'whoami',
  description:
    'show the service in use, and the token with its id, name, roles, project, expiry and limits',
  summary: 'show the service and the token in use',
  flags: {
    long: toggle('also show the rights; the formats json and yaml always contain the rights'),
  },
  columns: [...CALLER_COLUMNS, ...LIMIT_COLUMNS, 'rights'],
  examples: ['tsigil whoami', 'tsigil whoami --long', 'tsigil whoami --profile staging -f json'],
  async run({ columns, connect, flags, terminal }) {
    const { url, profile = null, ...connection } = await connect();
    const item: Readonly<Record<string, unknown>> = {
      url,
      profile,
      ...(await call({ ...connection, url }, 'GET', WHOAMI_PATH)),
    };
    const isLong = flags.long === true || ['json', 'yaml'].includes(flags.format ?? '');
    const limits = LIMIT_COLUMNS.filter((name) => (item[name] ?? null) !== null);
    printItem(terminal, item, isLong ? columns : [...CALLER_COLUMNS, ...limits], flags);
  },
});
