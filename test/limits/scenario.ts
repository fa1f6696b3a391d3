import type { Attack, AttackReport } from './attack.ts';
import type { AttackedService, Start } from './service.ts';

/** One attack, as the tables of this folder and SECURITY.md state it. */
export interface Scenario extends Start {
  /** What is tried. */
  readonly name: string;
  /** What bounds it. */
  readonly bound: string;
  /** The settings that do. */
  readonly settings: readonly string[];
  /** The most that it costs others. */
  readonly cost: string;
  /** A program without which the attack cannot be tried, and its Debian package. */
  readonly needs?: readonly [program: string, debianPackage: string];
  /** Prepares what the service needs in its `folder`, such as a database, and returns the variables that name it. */
  prepare?(
    folder: string,
  ): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** What the attacker sends to this service. */
  attack(target: Target): Promise<Attack> | Attack;
  /** The least that the attacker must have done and got, so that the attack was one. */
  readonly atLeast: Partial<
    Record<'opened' | 'closed' | 'sentBytes' | 'receivedBytes' | 'answers' | 'succeeded', number>
  >;
  /** How many descriptors more than before the service may have open after the attack: connections to its database, which it closes later. */
  readonly pooledConnections?: number;
  /** Whether another caller creates TLD entries meanwhile. */
  readonly writes?: boolean;
  /** For attacks on connections: how long other callers may be without an answer on new connections. */
  readonly servedAgainWithinSeconds?: number;
  /** Returns what else of this attack broke a bound. Called once, at the end of the attack. */
  problems?(report: AttackReport, service: AttackedService): Promise<string[]> | string[];
}

/** A service that is about to be attacked. */
export interface Target {
  readonly service: AttackedService;
  /** Creates a token with this role in a project and returns it. */
  token(role: 'admin' | 'member' | 'reader', projectId?: string): Promise<string>;
}
