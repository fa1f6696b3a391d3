import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DesiredKey } from '../../src/brands/desired-state.ts';
import { RIGHTS, type Right } from '../../src/access/rights.ts';
import type { NameServer } from '../../src/net/dns.ts';
import { hasProgram, TOOL_ENVIRONMENT } from './tools.ts';

/** The members of a key that sign a request. */
export type SigningKey = Pick<DesiredKey, 'name' | 'algorithm' | 'secret'>;

/** Returns whether dig, kdig and nsupdate are installed, as `hasProgram` does. */
export function hasDnsTools(): boolean {
  return [
    hasProgram('dig', 'bind9-dnsutils'),
    hasProgram('kdig', 'knot-dnsutils'),
    hasProgram('nsupdate', 'bind9-dnsutils'),
  ].every(Boolean);
}

/**
 * Returns whether a name server grants a right in a zone to a request that `key` signs, or to an
 * unsigned request. dig and kdig transfer the zone, from the address `from`, and nsupdate adds a record
 * to it. Returns undefined if dig and kdig disagree, because the server changed meanwhile.
 */
export async function isGranted(
  server: NameServer,
  zone: string,
  right: Right,
  key?: SigningKey,
  from = '127.0.0.1',
): Promise<boolean | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-tools-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const signed = (text: (key: SigningKey) => string) =>
    key === undefined ? [] : ['-k', file('key', text(key))];
  const bindKey = ({ name, algorithm, secret }: SigningKey) =>
    `key "${name}" { algorithm ${algorithm}; secret "${secret}"; };\n`;
  const at = [`@${server.host}`, '-p', String(server.port), zone, 'AXFR', '-b', from];
  try {
    if (right === 'update') {
      const script = `server ${server.host} ${server.port}\nzone ${zone}\nupdate add probe.${zone} 60 TXT "x"\nsend\n`;
      const { code } = await run('nsupdate', [...signed(bindKey), file('script', script)]);
      return code === 0;
    }
    const isWhole = /\bSOA\b[^]*\bSOA\b/; // a transfer begins and ends with the SOA record
    const dig = isWhole.test((await run('dig', [...signed(bindKey), ...at])).output);
    const kdigKey = ({ name, algorithm, secret }: SigningKey) => `${algorithm}:${name}:${secret}\n`;
    const kdig = isWhole.test((await run('kdig', [...signed(kdigKey), ...at])).output);
    return dig === kdig ? dig : undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the zones and rights that a name server grants to unsigned requests. */
export async function grantedToAnyone(
  server: NameServer,
  zones: readonly string[],
): Promise<string[]> {
  const open: string[] = [];
  for (const zone of zones)
    for (const right of RIGHTS)
      if ((await isGranted(server, zone, right)) !== false) open.push(`${right} of ${zone}`);
  return open;
}

function run(
  program: string,
  parameters: readonly string[],
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(program, parameters, { env: TOOL_ENVIRONMENT }, (error, output) => {
      const code = error === null ? 0 : error.code;
      resolve({ code: typeof code === 'number' ? code : 1, output });
    });
  });
}
