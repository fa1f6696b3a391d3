import type { AgentPass } from '../../domain/delivery/agent-pass.ts';
import type { ObservedByAgent } from '../../domain/delivery/agent-protocol.ts';
import { hashOf } from '../../domain/delivery/desire.ts';
import {
  LeaseLostError,
  type Delivery,
  type DeliveryStore,
  type Failure,
  type PassRecord,
} from '../../domain/delivery/ports.ts';
import { LEASE_MS } from '../reconciler/lease.ts';
import { notBegun, reportOf, type Result } from './pass-report.ts';
import { RefusedError } from './service-link.ts';
import type { ServerState } from '../../domain/resources/name-server-status.ts';

/** The dependencies of an agent's delivery store. */
export interface RemoteStoreDependencies {
  /** The id of the name server. */
  readonly id: string;
  /** The name of the agent. */
  readonly agent: string;
  /** Returns the milliseconds of a monotonic clock. */
  now(): number;
  /** Sends a report. Throws if the service does not record the report. */
  report(report: ObservedByAgent): Promise<void>;
  /**
   * Extends the lease of the pass with this fence number. Returns the number of changes that wait.
   * Throws `RefusedError` if the lease was lost.
   */
  renew(fence: number): Promise<number>;
}

/** The delivery store of an agent. It uses the service in place of the database. */
export interface RemoteStore {
  readonly store: DeliveryStore;
  /** Schedules a pass that the service requests. Resolves when the pass has ended. */
  offer(pass: AgentPass): Promise<void>;
  /** Ends the pass in progress, if any. A pass that lost its lease may end without a record. */
  end(): void;
  /** Sets whether the agent runs passes alone, because the service does not respond. */
  setAlone(isAlone: boolean): void;
}

/**
 * Creates the delivery store of one agent. The service requests passes. While the service does not
 * respond, the agent runs passes with the last state that it has applied.
 */
export function createRemoteStore({
  id,
  agent,
  now,
  report,
  renew,
}: RemoteStoreDependencies): RemoteStore {
  let offered: { readonly pass: AgentPass; readonly end: () => void } | undefined;
  let current: CurrentPass | undefined;
  let ended: () => void = () => undefined;
  let last: AgentPass | undefined;
  let isAlone = false;
  let checkAt = 0;
  let probeAt = 0;

  const active = () => {
    if (current === undefined) throw new LeaseLostError();
    return current;
  };
  const finish = () => {
    current = undefined;
    ended();
    ended = () => undefined;
  };
  const isOwnDue = () => isAlone && last !== undefined && now() >= checkAt;
  /**
   * Extends the lease. Returns the number of changes that wait, or undefined if the lease was lost.
   * While the service does not respond, the lease counts as lost after `LEASE_MS`.
   */
  const extend = async (): Promise<number | undefined> => {
    const asked = now();
    const pass = current;
    if (pass === undefined || pass.isOwn) return pass && 0;
    try {
      const changes = await renew(pass.pass.claim.fence);
      pass.heldAt = asked;
      return changes;
    } catch (error) {
      return error instanceof RefusedError || asked - pass.heldAt >= LEASE_MS ? undefined : 0;
    }
  };
  const holds = async () => (await extend()) !== undefined;
  const send = async (members: Partial<ObservedByAgent> & Result): Promise<void> => {
    const { pass, began } = active();
    const { claim, etag, changes, desired } = pass;
    try {
      await report({
        agent,
        etag,
        fence: claim.fence,
        changes,
        removed: [],
        deliveries: [],
        keys_wanted: desired.state.keys.length,
        keys_live: claim.server.keys_live,
        applied: false,
        verified: false,
        probed_all: false,
        found_drift: false,
        refusals: 0,
        duration_ms: Math.round(now() - began),
        ...members,
      });
    } catch {
      throw new LeaseLostError(); // the changes still wait, and the next pass reports them
    }
  };

  const store: DeliveryStore = {
    due: () => Promise.resolve(offered !== undefined || isOwnDue() ? [id] : []),
    claim() {
      const began = now();
      if (offered !== undefined) {
        current = { pass: offered.pass, isOwn: false, began, heldAt: began };
        ended = offered.end;
        offered = undefined;
      } else if (isOwnDue() && last !== undefined) {
        const { claim, desired } = last;
        const probes = began >= probeAt ? ('due' as const) : ('none' as const);
        const own = { ...claim, probes, isConfirmed: false };
        const appliedHash = hashOf(desired.state);
        const pass = { ...last, claim: { ...own, appliedHash } };
        current = { pass, isOwn: true, began, heldAt: began };
      }
      return Promise.resolve(current?.pass.claim);
    },
    renew: holds,
    releaseAll: () => Promise.resolve(),
    countChanges: () => Promise.resolve(current?.isOwn === false ? current.pass.changes.length : 0),
    outbox: () => Promise.resolve([...(current?.isOwn === false ? current.pass.changes : [])]),
    // The agent's own pass ends early when the service responds again.
    isBehind: async (_id, { length }) => offered !== undefined || ((await extend()) ?? 0) > length,
    desired: () => Promise.resolve(active().pass.desired),
    deliveries: () => Promise.resolve([...active().pass.deliveries]),
    async record(_id, _holder, _fence, record) {
      const { pass, isOwn } = active();
      try {
        const deliveries = updated(pass.deliveries, record);
        last = { ...pass, ...withState(pass, record.state, record.error), deliveries };
        checkAt = now() + record.nextCheckMs;
        if (record.nextProbeMs !== undefined) probeAt = now() + record.nextProbeMs;
        if (!isOwn) await send(reportOf(record));
        return undefined;
      } finally {
        finish();
      }
    },
    async fail(_id, _holder, _fence, { state, error, refusals, retryMs }) {
      const { pass, isOwn, begun } = active();
      const attempts = pass.claim.server.attempts + 1;
      try {
        const wait = Math.round(retryMs(attempts));
        checkAt = now() + wait;
        const failed = { completed: false, outcome: 'failed', state, error } as const;
        if (last !== undefined) last = { ...last, ...withState(last, state, error) };
        const delivered = pass.deliveries.map(({ keyId }) => keyId);
        const removed = notBegun(pass.desired.state.keys, delivered, begun);
        if (!isOwn) await send({ ...failed, refusals, removed, next_ms: wait });
        return attempts;
      } finally {
        finish();
      }
    },
    // The service wrote the rows before it sent the keys.
    async begin(_id, _holder, _fence, rows) {
      const pass = active();
      if (!(await holds())) throw new LeaseLostError();
      pass.begun = new Set(rows.map(({ keyId }) => keyId));
    },
    hold: () => Promise.resolve([]), // only the service holds delivery
    intend: () => Promise.resolve(),
    leave: () => Promise.resolve(), // the service accepts no report without a lease
    checkNow: () => Promise.resolve(),
    seen: () => Promise.resolve(),
    request: () => Promise.resolve(),
  };
  return {
    store,
    offer: (pass) =>
      new Promise((resolve) => {
        offered = { pass, end: resolve };
      }),
    end: finish,
    setAlone(alone) {
      if (alone && !isAlone) checkAt = Math.min(checkAt, now() + FIRST_CHECK_MS);
      isAlone = alone;
    },
  };
}

interface CurrentPass {
  readonly pass: AgentPass;
  /** Whether the agent runs the pass without the service. */
  readonly isOwn: boolean;
  readonly began: number;
  /** The ids of the new keys that the pass has begun to deliver. */
  begun?: ReadonlySet<string>;
  /** The last time at which the agent certainly had its lease. */
  heldAt: number;
}

/** How long an agent waits for the service before it runs a pass alone. */
const FIRST_CHECK_MS = 5000;

/** Returns the claim of a pass, with the state of the name server after it. */
function withState({ claim }: AgentPass, state: ServerState, error: Failure | null) {
  const server = { ...claim.server, state, error_code: error?.code ?? null };
  return { claim: { ...claim, server } };
}

/** Returns the deliveries after a pass. */
function updated(former: readonly Delivery[], { changed, removed }: PassRecord): Delivery[] {
  const rows = new Map([...former, ...changed].map((row) => [row.keyId, row]));
  for (const key of removed) rows.delete(key);
  return [...rows.values()];
}
