import { existsSync } from 'node:fs';
import { readWholeFile } from '../../net/files.ts';
import { codeOf, faultOf } from '../../net/faults.ts';
import type { Trust } from '../../net/http.ts';
import type { ServiceDefaults, Terminal } from '../output/terminal.ts';
import type { Connection } from './client.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { readCertificates } from './input.ts';
import { profileNamed, readProfiles, type Profile } from './profiles.ts';

export interface ConnectionFlags {
  readonly url?: string;
  readonly tokenFile?: string;
  readonly cacert?: string;
  readonly profile?: string;
}

/** The defaults for a service with the default configuration that was started in this folder. */
export const DEFAULTS: ServiceDefaults = {
  url: 'http://127.0.0.1:9001',
  tokenFile: 'var/admin.token',
};

interface Credentials extends Profile {
  /** The name of the profile, if it is one. */
  readonly name?: string;
}

/**
 * Returns the connection that the flags and variables select. `--url` and `TSIGIL_URL` set the URL,
 * except for profiles: a profile's token is only sent to the profile's URL. Throws `CommandError`.
 */
export async function findConnection(
  flags: ConnectionFlags,
  environment: NodeJS.ProcessEnv,
  findLocal: Terminal['findService'] = async () => undefined,
): Promise<Connection> {
  const found = await findService(flags, environment, async () => (await findLocal()) ?? DEFAULTS);
  const cacert = flags.cacert ?? (environment.TSIGIL_CACERT || found.cacert);
  const url = checkUrl(found.url);
  const trust = readTrust(cacert, url, environment);
  return { url, token: found.token, trust, ...(found.name && { profile: found.name }) };
}

/**
 * The first of these provides the token: a flag, `TSIGIL_TOKEN`, `TSIGIL_PROFILE`, the current
 * profile, the service on this machine. A token is never an argument, because other users of the
 * machine can read arguments.
 */
async function findService(
  { url, tokenFile, profile }: ConnectionFlags,
  environment: NodeJS.ProcessEnv,
  findLocal: () => Promise<ServiceDefaults>,
): Promise<Credentials> {
  const wanted = url ?? (environment.TSIGIL_URL || undefined);
  const withToken = async (token: string) => ({ url: wanted ?? (await findLocal()).url, token });
  if (tokenFile !== undefined && profile !== undefined)
    throw new CommandError(
      EXIT.usage,
      'Cannot use --token-file and --profile together: each provides a token. Use one of them.',
    );
  if (tokenFile !== undefined) return withToken(readTokenFile(tokenFile));
  if (profile !== undefined) return profileFor(url, profile, environment);
  if (environment.TSIGIL_TOKEN)
    return withToken(checkToken(environment.TSIGIL_TOKEN, 'TSIGIL_TOKEN'));
  if (environment.TSIGIL_PROFILE) return profileFor(url, environment.TSIGIL_PROFILE, environment);
  const { current, profiles } = readProfiles(environment);
  const stored = profiles[current ?? ''];
  const isOther = wanted !== undefined && checkUrl(wanted) !== stored?.url;
  if (current !== undefined && stored !== undefined && !isOther)
    return profileFor(url, current, environment);
  return firstTokenFor(wanted, await findLocal());
}

/** Throws `CommandError` if `--url` selects another service than the profile. */
function profileFor(
  url: string | undefined,
  name: string,
  environment: NodeJS.ProcessEnv,
): Credentials {
  const profile = profileNamed(readProfiles(environment), name);
  if (url !== undefined && checkUrl(url) !== profile.url)
    throw new CommandError(
      EXIT.usage,
      `The token of profile '${name}' is for '${profile.url}', not for the URL in --url. Omit --url, or use --token-file.`,
    );
  return { ...profile, name, token: checkToken(profile.token, `The profile '${name}'`) };
}

/**
 * The first token of a service gives all rights, so no other program may receive it, also none on this
 * machine. Throws `CommandError` for another address than that of the service.
 */
function firstTokenFor(wanted: string | undefined, local: ServiceDefaults): Credentials {
  const url = checkUrl(wanted ?? local.url);
  if (new URL(url).host !== new URL(local.url).host)
    throw new CommandError(
      EXIT.usage,
      `No token for '${url}'. The token in '${local.tokenFile}' is only for '${local.url}', the service on this machine.`,
      `Set TSIGIL_TOKEN, use --token-file FILE, or run 'tsigil login --url ${url}'.`,
    );
  return { url, token: readTokenFile(local.tokenFile) };
}

/**
 * Returns a valid URL without a final `/v2`, which the endpoints of OpenStack clients have. Throws
 * `CommandError`.
 */
export function checkUrl(text: string): string {
  const url = text.replace(/\/+$/, '').replace(/\/v2$/, '');
  if (!/\s|\p{Cc}/u.test(url) && /^https?:\/\/[^/@]+(?:\/[^@?#]*)?$/.test(url) && URL.canParse(url))
    return url;
  // A URL with a user or a query may contain a secret.
  const shown = /[@?#]/.test(text) ? '' : ` '${text}'`;
  throw new CommandError(
    EXIT.usage,
    `Invalid service URL${shown}. Use an http or https URL without user, query and fragment.`,
  );
}

/** Returns the CA certificates of the file, or those of the system. Plain HTTP needs neither. */
function readTrust(cacert: string | undefined, url: string, environment: NodeJS.ProcessEnv): Trust {
  if (cacert !== undefined) return { ca: readCertificates(cacert) };
  return { ca: url.startsWith('https:') ? systemCertificates(environment) : undefined };
}

function readTokenFile(path: string): string {
  let token: string;
  try {
    token = readWholeFile(path).toString().trim();
  } catch (cause) {
    const hint =
      codeOf(cause) === 'EACCES'
        ? "Run this command with sudo, or sign in with a token of your own: 'sudo tsigil token create' creates one, and 'tsigil login' stores it."
        : "Set TSIGIL_TOKEN, use --token-file, or sign in with 'tsigil login'. Or run this command as the user who started the service, in the same folder.";
    throw new CommandError(
      EXIT.unreachable,
      `No token: '${path}' cannot be read: ${faultOf(cause).message}`,
      hint,
      cause,
    );
  }
  return checkToken(token, path);
}

/**
 * Returns a valid token. Throws `CommandError` for an invalid header value, because the error of
 * the HTTP client would quote the token.
 */
export function checkToken(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new CommandError(
    EXIT.usage,
    `${source} has no valid token. Use one line of printable ASCII characters without blanks.`,
  );
}

/** The files in which systems store trusted certificates. OpenSSL and Go read the same files. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/**
 * Returns the certificates that Node.js and this system trust, in PEM. `SSL_CERT_FILE` replaces the
 * file of the system, and `NODE_EXTRA_CA_CERTS` adds another file. Ignores files that cannot be
 * read.
 */
function systemCertificates(environment: NodeJS.ProcessEnv): string {
  const system = environment.SSL_CERT_FILE || SYSTEM_FILES.find((path) => existsSync(path));
  const files = [system, environment.NODE_EXTRA_CA_CERTS].map(readOptional);
  const { rootCertificates } = process.getBuiltinModule('node:tls'); // not for plain HTTP
  return [...rootCertificates, ...files].join('\n');
}

function readOptional(path: string | undefined): string {
  try {
    return path ? readWholeFile(path).toString() : '';
  } catch {
    return '';
  }
}
