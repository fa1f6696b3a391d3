/** How long requests may run in one turn of the event loop before further requests wait. */
const TURN_MS = 5;

/**
 * How long new connections may delay waiting requests, in milliseconds, and as a multiple of the
 * last turn that served requests: long requests must not slow the acceptance of connections.
 */
const ACCEPTING = { leastMs: 20, mostMs: 150, perServed: 4 };

/** After so many connections, turns serve no requests until none has arrived for `quietMs`. */
const FLOOD = { connections: 8, quietMs: 2 };

const STARTS_PER_TURN = 32;

interface Turns {
  /** Returns the time of a monotonic clock in milliseconds. */
  now(): number;
  /** Calls `work` after the event loop has polled for input, like `setImmediate`. */
  later(work: () => void): void;
  /** Returns the number of connections that the service has accepted so far. */
  connections(): number;
}

/** The turns of the event loop, shared between the owners of requests. */
interface FairTurns {
  /** Returns whether this turn has time left, no request waits, and no connection just arrived. */
  mayBegin(): boolean;
  /** Calls `begin` when `owner` is next. */
  wait(owner: string, begin: () => void): void;
}

/**
 * Creates fair turns. Requests begin at once until they have run for 5 ms in one turn of the event
 * loop. Further requests wait, and their owners are served in rotation. All waiting requests of one
 * owner together delay a request of another owner by one request. A connection has at most one
 * waiting request, so the limits on connections bound the number of waiting requests.
 */
export function createFairTurns({ now, later, connections }: Turns): FairTurns {
  // A Map iterates in the order in which keys were set. An owner that was served is set again and
  // moves to the end.
  const queues = new Map<string, Set<() => void>>();
  let waiting = 0;
  /** The time at which the first request of this turn began. 0 if none has begun. */
  let turnBegan = 0;
  /**
   * The time at which this turn began to serve waiting requests. 0 before that, -Infinity in a turn
   * that serves no request.
   */
  let servingSince = 0;
  /**
   * The time at which turns stopped serving requests because connections arrived. 0 if the last
   * turn served a request.
   */
  let acceptingSince = 0;
  /** How long turns may serve no requests for that, in milliseconds. */
  let acceptingMs = ACCEPTING.leastMs;
  let accepted = 0;
  /** The value of `accepted` at `acceptingSince`. */
  let acceptedBefore = 0;
  /** The time of the last turn in which a connection arrived. */
  let arrivedAt = -Infinity;
  /** The number of pending calls of `serve`. */
  let due = 0;

  const endTurn = () => {
    turnBegan = 0;
  };

  const beginNext = () => {
    for (const [owner, queue] of queues) {
      queues.delete(owner);
      for (const begin of queue) {
        queue.delete(begin);
        if (queue.size > 0) queues.set(owner, queue);
        waiting -= 1;
        begin();
        return;
      }
    }
  };

  const serveLater = () => {
    due += 1;
    later(serve);
  };

  /**
   * Returns whether this turn serves no requests. Node.js accepts one connection in a turn. If
   * every turn served requests, a new connection would wait for as many requests as connections are
   * ahead of it.
   */
  const isAccepting = (at: number) => {
    if (acceptingSince === 0) {
      acceptingSince = at;
      acceptedBefore = accepted;
    }
    const isNew = connections() !== accepted;
    accepted = connections();
    if (isNew) arrivedAt = at;
    const isFlood = accepted - acceptedBefore >= FLOOD.connections;
    const isArriving = isNew || (isFlood && at - arrivedAt < FLOOD.quietMs);
    if (isArriving && at - acceptingSince < acceptingMs) return true;
    acceptingSince = 0;
    return false;
  };

  // Each call serves one request, so that the microtasks of its handler finish before the next
  // call.
  const serve = () => {
    due -= 1;
    const at = now();
    if (servingSince === 0) servingSince = isAccepting(at) ? -Infinity : at;
    if (at - servingSince < TURN_MS) beginNext();
    if (due > 0) return;
    if (servingSince > 0) {
      const wanted = (at - servingSince) * ACCEPTING.perServed;
      acceptingMs = Math.min(Math.max(wanted, ACCEPTING.leastMs), ACCEPTING.mostMs);
    }
    servingSince = 0;
    for (let count = Math.min(waiting, STARTS_PER_TURN); count > 0; count -= 1) serveLater();
  };

  return {
    mayBegin() {
      const at = now();
      if (turnBegan === 0) {
        turnBegan = at;
        later(endTurn);
      }
      return waiting === 0 && at - turnBegan < TURN_MS && connections() === accepted;
    },
    wait(owner, begin) {
      const queue = queues.get(owner) ?? new Set();
      queues.set(owner, queue.add(begin));
      waiting += 1;
      if (due < STARTS_PER_TURN) serveLater();
    },
  };
}
