import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../domain/model/errors.ts';

/** How long requests of one turn of the event loop may take together before further ones wait, in milliseconds. */
const TURN_MS = 5;

/** For how long new connections may hold up waiting requests, in milliseconds. */
const ACCEPTING_MS = 20;

/** How many waiting requests begin in one turn at most. */
const STARTS_PER_TURN = 32;

/** What the turns depend on. */
export interface Turns {
  /** A monotonic clock in milliseconds. */
  now(): number;
  /** Calls `work` after the event loop has polled for input: `setImmediate`. */
  later(work: () => void): void;
  /** How many connections the service has accepted so far. */
  connections(): number;
}

/** Shares the turns of the event loop between the owners of requests. */
export interface FairTurns {
  /** Whether a request may begin at once: this turn has time left, no request waits, and no connection has just arrived. */
  mayBegin(): boolean;
  /** Calls `begin` when it is the turn of `owner`. */
  wait(owner: string, begin: () => void): void;
}

/**
 * Requests begin at once until those of one turn of the event loop have taken 5 ms. Further requests wait, and their owners are served
 * in turn: however many requests one owner has, they delay a request of another owner by one request. A connection has at most one
 * request that waits, so the limits of connections bound how many wait.
 */
export function createFairTurns({ now, later, connections }: Turns): FairTurns {
  // A Map iterates in the order in which keys were set: an owner that was served is set anew and goes to the end.
  const queues = new Map<string, Set<() => void>>();
  let waiting = 0;
  /** When the first request of this turn began; 0 when none did. */
  let turnBegan = 0;
  /** When this turn began to serve waiting requests; 0 before that, -Infinity in a turn that serves none. */
  let servingSince = 0;
  /** When the turns began that served no request because connections arrived; 0 when the last turn served. */
  let acceptingSince = 0;
  let accepted = 0;
  /** How many calls of `serve` are due. */
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
   * Whether this turn leaves its time to the next. Node.js accepts one connection in a turn. If every turn served requests for 5 ms,
   * a new connection would wait 5 ms for each connection that came before it.
   */
  const isAccepting = (at: number) => {
    const isNew = connections() !== accepted;
    accepted = connections();
    if (acceptingSince === 0) acceptingSince = at;
    if (isNew && at - acceptingSince < ACCEPTING_MS) return true;
    acceptingSince = 0;
    return false;
  };

  // Each call serves one request, so that what its handler does in microtasks is done before the next call.
  const serve = () => {
    due -= 1;
    const at = now();
    if (servingSince === 0) servingSince = isAccepting(at) ? -Infinity : at;
    if (at - servingSince < TURN_MS) beginNext();
    if (due > 0) return;
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

/** Calls `begin` when it is the turn of the request's owner, or `refuse` if the caller has left while the request waited. */
export type WaitForTurn = (
  request: FastifyRequest,
  begin: () => void,
  refuse: (error: Error) => void,
) => void;

/**
 * Lets requests whose body was read begin in fair turns. `ownerOf` is called for those that wait. Returns the function by which a request
 * waits that may not begin before that: call it before any other work for the request except noting when it began.
 */
export function addFairTurns(
  app: FastifyInstance,
  turns: FairTurns,
  ownerOf: (request: FastifyRequest) => string,
): WaitForTurn {
  const wait: WaitForTurn = (request, begin, refuse) =>
    turns.wait(ownerOf(request), () => {
      if (request.raw.socket.destroyed)
        refuse(
          new ServiceError(
            'request_timeout',
            'The caller closed the connection before the request began',
          ),
        );
      else begin();
    });
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.body === undefined || turns.mayBegin()) done();
    else wait(request, () => done(), done);
  });
  return wait;
}
