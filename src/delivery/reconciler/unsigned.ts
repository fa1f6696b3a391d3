import type { Right } from '../../access/rights.ts';
import type { Fault } from '../../core/fault.ts';
import type { NameServer } from '../../resources/name-server.ts';
import { parseDnsAddress } from '../../core/text/dns-address.ts';
import type { NameServer as NameServerAddress } from '../../net/dns.ts';
import { NetError } from '../../net/faults.ts';
import { findOpenRights, findServedZone, serves } from '../../net/probe.ts';
import { unmet, type Requirement } from '../../brands/driver.ts';

/** The members of a name server that determine where it is verified. */
export type ProbedServer = Pick<NameServer, 'name' | 'address' | 'probe_zone'> & {
  readonly driver: string;
};

/** Checks that a name server refuses unsigned transfers and updates. */
export async function checkUnsigned(
  server: ProbedServer,
  zones: readonly string[],
): Promise<Requirement & { readonly responds: boolean }> {
  const address = parseDnsAddress(server.address);
  const zone = await probeZoneOf(server, address, zones);
  const where = zone === undefined ? '' : ` of the zone ${quoted(zone)}`;
  const requirement = `The name server refuses unsigned transfers and updates${where}.`;
  const failed = (message: string, hint: string, responds = true) => ({
    ...unmet(requirement, { message, hint }),
    responds,
  });
  if (address === undefined || zone === undefined)
    return failed(
      'The pool has no zone for a test query.',
      'Set the member `probe_zone` of the name server.',
    );
  try {
    if (!(await serves({ server: address, zone })))
      return failed(`${notServed(server, zone)}.`, NOT_SERVED_HINT);
    const open = await findOpen(address, zone);
    if (open === undefined) return { requirement, ok: true, responds: true };
    return failed(
      `T${open.message.slice(1)}.`,
      'Configure the name server to refuse unsigned transfers and updates.',
    );
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    const problem = `The name server does not respond to queries: ${error.message}.`;
    return failed(problem, 'Check the member `address` of the name server.', false);
  }
}

const NOT_SERVED_HINT =
  'Set the member `probe_zone` of the name server to a zone that it serves, or configure the zone there.';

export function notServed({ name }: ProbedServer, zone: string): string {
  return `${name} does not serve ${quoted(zone)}: set probe_zone`;
}

const quoted = (zone: string) => `'${zone.replace(/\.$/, '')}.'`;

/** Returns the zone in which to test keys that apply to all zones, if the pool has any. */
export async function probeZoneOf(
  { probe_zone: chosen }: ProbedServer,
  address: NameServerAddress | undefined,
  zones: readonly string[],
): Promise<string | undefined> {
  return chosen ?? (address === undefined ? zones[0] : await findServedZone(address, zones));
}

/** Returns a failure with the rights that a name server grants to unsigned requests, if any. */
export async function findOpen(
  address: NameServerAddress,
  zone: string,
): Promise<Fault | undefined> {
  const rights = await findOpenRights({ server: address, zone });
  return rights.length === 0 ? undefined : openIn(zone, rights);
}

export function openIn(zone: string, rights: readonly Right[]): Fault {
  const message = `the name server accepts unsigned requests for zone '${zone}': ${rights.join(', ')}`;
  return { code: 'open', message };
}
