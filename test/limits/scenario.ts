import type { Attack, AttackReport } from './attack.ts';
import type { AttackedService, Start } from './service.ts';

/** One attack, as this folder and SECURITY.md list it. */
export interface Scenario extends Start {
  /** The attack, in the imperative. */
  readonly name: string;
  /** What bounds the effect. */
  readonly bound: string;
  /** The settings that bound the effect. */
  readonly settings: readonly string[];
  /** The maximum cost for other callers. */
  readonly cost: string;
  /** The program that the attack requires, and its Debian package. */
  readonly needs?: readonly [program: string, debianPackage: string];
  /** Prepares `folder`, for example with a database, and returns the variables for the service. */
  prepare?(
    folder: string,
  ): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** Returns what the attacker sends to this service. */
  attack(target: Target): Promise<Attack> | Attack;
  /** What the attacker must at least have sent and received, so that the attack is valid. */
  readonly atLeast: Partial<
    Record<'opened' | 'closed' | 'sentBytes' | 'receivedBytes' | 'answers' | 'succeeded', number>
  >;
  /**
   * The number of additional open descriptors after the attack, for database connections, which the
   * service closes later.
   */
  readonly pooledConnections?: number;
  /** Whether another caller creates TLD entries during the attack. */
  readonly writes?: boolean;
  /** For attacks on connections: how long new connections of other callers may get no response. */
  readonly servedAgainWithinSeconds?: number;
  /** Returns further broken bounds. Called once, at the end of the attack. */
  problems?(report: AttackReport, service: AttackedService): Promise<string[]> | string[];
}

/** A service before an attack. */
export interface Target {
  readonly service: AttackedService;
  /** Creates a token with this role in a project and returns it. */
  token(role: 'admin' | 'member' | 'reader', projectId?: string): Promise<string>;
}
