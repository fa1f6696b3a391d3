import { anyText, integer, type ValueOf } from '../model/field.ts';
import { responseObject } from '../model/object.ts';
import { comparisonForm } from '../text/dns-name.ts';
import { AGENT_FORMAT, DESIRED, MAX_AT_ONCE, type DesiredForAgent } from './agent-protocol.ts';
import type { Claim, Delivery, Desire } from './ports.ts';

/** Returns the entity tag for the hash of a state and the pass number `fence`. */
export function etagOf(hash: string, fence: number): string {
  return `"${hash}.${fence}"`;
}

/**
 * Returns the hash and the pass number in an entity tag. Returns undefined for a tag that the
 * service cannot have sent.
 */
export function readEtag(etag: string): { hash: string; fence: number } | undefined {
  const [, hash, fence] = /^"([0-9a-f]{64})\.(\d{1,15})"$/.exec(etag) ?? [];
  return hash === undefined ? undefined : { hash, fence: Number(fence) };
}

/**
 * Returns the desired state in the format of the response to an agent. Set `hidesSecrets` if the
 * agent already has the secrets of this state.
 */
export function writeDesired(
  claim: Claim,
  hash: string,
  changes: readonly string[],
  { state, undeliverable }: Desire,
  deliveries: readonly Delivery[],
  hidesSecrets: boolean,
): DesiredForAgent {
  return {
    format: AGENT_FORMAT,
    etag: etagOf(hash, claim.fence),
    fence: claim.fence,
    name_server: claim.server,
    applied_hash: claim.appliedHash,
    // absent before the first whole delivery
    ...(claim.appliedRights.length === 0 ? {} : { applied_rights: claim.appliedRights }),
    probes: claim.probes,
    is_confirmed: claim.isConfirmed,
    refusals: claim.refusals,
    stamps: claim.stamps,
    changes: changes.slice(0, MAX_AT_ONCE),
    zones: state.zones,
    keys: state.keys.map(({ id, name, algorithm, secret, version, zones }) => ({
      id,
      name,
      algorithm,
      version,
      secret: hidesSecrets ? null : secret,
      zones: zones === 'all' ? null : zones,
    })),
    kept: (state.kept ?? []).map(({ id, name, version, zones }) => ({
      id,
      name,
      version,
      zones: zones === 'all' ? null : zones,
    })),
    undeliverable: undeliverable.map(({ key, code, reason }) => ({
      id: key.id,
      name: comparisonForm(key.name),
      version: key.version,
      code,
      reason,
    })),
    deliveries: deliveries.map((row) => ({
      key_id: row.keyId,
      key_name: row.keyName,
      state: row.state,
      delivered_version: row.deliveredVersion,
      applied_at: row.appliedAt,
      verified_at: row.verifiedAt,
      error: row.error,
    })),
  };
}

const HEAD = responseObject({ format: integer(1), etag: anyText(), fence: integer(0) });

export type StateHead = ValueOf<typeof HEAD>;

/**
 * Reads a state from the service. Ignores members that later versions add. If the agent cannot use
 * the state, returns the reason as `problem`, and returns `head` if its members are valid.
 */
export function readState(
  value: unknown,
): { readonly state: DesiredForAgent } | { readonly problem: string; readonly head?: StateHead } {
  const head = HEAD.parse(value);
  if ('problem' in head) return { problem: `The response of the service ${head.problem}` };
  const { format } = head.value;
  if (format !== AGENT_FORMAT) {
    const problem = `The service uses format ${format}, but this agent uses format ${AGENT_FORMAT}. Install the service's version of Tsigil on this host`;
    return { problem, head: head.value };
  }
  const parsed = DESIRED.parse(value);
  if ('value' in parsed) return { state: parsed.value };
  return { problem: `The response of the service ${parsed.problem}`, head: head.value };
}

/** A pass that an agent reads from the service. */
export interface AgentPass {
  readonly claim: Claim;
  readonly etag: string;
  readonly changes: readonly string[];
  readonly desired: Desire;
  readonly deliveries: readonly Delivery[];
}

/**
 * Returns the pass that the service describes. `secretOf` returns a secret that the agent has
 * stored. Returns undefined if the agent lacks a secret that the service did not send.
 */
export function readDesired(
  given: DesiredForAgent,
  secretOf: (id: string) => string | undefined,
): AgentPass | undefined {
  const { fence, etag, changes } = given;
  const server = { ...given.name_server, held: null, unknown_keys: [] };
  const { rights } = server;
  const keys = given.keys.flatMap(({ zones, secret: sent, ...key }) => {
    const secret = sent ?? secretOf(key.id);
    return secret === undefined
      ? []
      : [{ ...key, secret, rights, zones: zones ?? ('all' as const) }];
  });
  if (keys.length < given.keys.length) return undefined;
  return {
    claim: {
      server,
      fence,
      appliedHash: given.applied_hash,
      appliedRights: given.applied_rights ?? [],
      probes: given.probes,
      isConfirmed: given.is_confirmed,
      refusals: given.refusals,
      stamps: given.stamps ?? [],
      isAgent: true,
    },
    etag,
    changes,
    desired: {
      state: {
        zones: given.zones,
        keys,
        kept: given.kept.map(({ zones, ...key }) => ({ ...key, rights, zones: zones ?? 'all' })),
      },
      undeliverable: given.undeliverable.map(({ code, reason, ...key }) => ({ key, code, reason })),
    },
    deliveries: given.deliveries.map((row): Delivery => ({
      keyId: row.key_id,
      keyName: row.key_name,
      state: row.state,
      deliveredVersion: row.delivered_version,
      appliedAt: row.applied_at,
      verifiedAt: row.verified_at,
      error: row.error,
    })),
  };
}
