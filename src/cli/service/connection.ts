import { readFileSync } from 'node:fs';
import { faultOf } from '../../net/faults.ts';
import type { Trust } from '../../net/http.ts';
import type { Connection } from './client.ts';
import { findCloud, type Cloud } from './clouds.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { readTextFile } from './input.ts';
import { signIn } from './keystone.ts';

/** How the connection was asked for on the command line. */
export interface ConnectionFlags {
  readonly url?: string;
  readonly tokenFile?: string;
  readonly cacert?: string;
  readonly osCloud?: string;
}

/** Where a service with the default configuration listens, and where it leaves its first token. */
const DEFAULT_URL = 'http://127.0.0.1:9001';
const DEFAULT_TOKEN_FILE = 'var/admin.token';

/**
 * The connection that is asked for, by the first of these: `--os-cloud`; `--token-file` or `TSIGIL_TOKEN`; a cloud that `OS_*`
 * variables name; else the first token of a local service that was started in this folder. `--url` and `TSIGIL_URL` say where
 * the service is, whatever the token. Tokens are never arguments: other users of the machine can read those.
 * Throws `CommandError`.
 */
export async function findConnection(flags: ConnectionFlags, environment: NodeJS.ProcessEnv): Promise<Connection> {
  if (flags.osCloud !== undefined && flags.tokenFile !== undefined) {
    throw new CommandError(EXIT.usage, '--os-cloud and --token-file cannot be used together: each brings a token');
  }
  const ownToken = flags.tokenFile === undefined ? environment.TSIGIL_TOKEN || undefined : undefined;
  const hasOwnToken = flags.tokenFile !== undefined || ownToken !== undefined;
  const cloud = flags.osCloud !== undefined || !hasOwnToken ? findCloud(flags.osCloud, environment) : undefined;
  const trust = readTrust(flags.cacert ?? cloud?.cacert, cloud?.verify);
  // A cloud that is named on the command line beats a variable; one from a variable does not.
  const url = flags.url ?? (flags.osCloud === undefined ? environment.TSIGIL_URL || undefined : undefined);
  if (cloud !== undefined) return connectToCloud(cloud, url, trust);
  const file = flags.tokenFile ?? DEFAULT_TOKEN_FILE;
  const token = ownToken === undefined ? checkToken(readTokenFile(file), file) : checkToken(ownToken, 'TSIGIL_TOKEN');
  return { url: checkUrl(url ?? DEFAULT_URL), token, trust };
}

/** A cloud either names the service and the token itself, or an identity service that knows both. */
async function connectToCloud(cloud: Cloud, url: string | undefined, trust: Trust): Promise<Connection> {
  const override = url ?? cloud.endpoint;
  if (cloud.authType === 'admin_token' || cloud.authType === 'none') {
    if (cloud.authType === 'admin_token' && cloud.auth.token === undefined) throw new CommandError(EXIT.usage, `${cloud.source} has no token`);
    const token = cloud.auth.token === undefined ? undefined : checkToken(cloud.auth.token, `The token of ${cloud.source}`);
    if (override === undefined) throw new CommandError(EXIT.usage, `${cloud.source} names no endpoint, which auth_type ${cloud.authType} needs`);
    return { url: checkUrl(override), token, trust };
  }
  const { token, endpoint } = await signIn({ ...cloud, authType: cloud.authType }, override, trust);
  return { url: checkUrl(endpoint), token, trust };
}

/** Endpoints in catalogues may end in `/v2`, as paths begin with it. */
function checkUrl(text: string): string {
  const url = text.replace(/\/+$/, '').replace(/\/v2$/, '');
  if (!/\s|\p{Cc}/u.test(url) && /^https?:\/\/[^/@]+(?:\/[^@?#]*)?$/.test(url) && URL.canParse(url)) return url;
  throw new CommandError(EXIT.usage, 'The URL of the service must be an http or https URL without user, query or fragment');
}

function readTrust(cacert: string | undefined, verify: boolean | undefined): Trust {
  return { ca: cacert === undefined ? undefined : readTextFile(cacert, 'The file of certificates'), verify };
}

function readTokenFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    const hint = 'Set TSIGIL_TOKEN, name a file with --token-file or a cloud with --os-cloud, or run this where the service was started.';
    throw new CommandError(EXIT.unreachable, `No token: '${path}' cannot be read: ${faultOf(cause).reason}`, hint, cause);
  }
}

/** What cannot be a header's value never reaches the HTTP client, whose message would show it. */
function checkToken(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new CommandError(EXIT.usage, `${source} does not hold a token: one line of printable ASCII characters without blanks`);
}
