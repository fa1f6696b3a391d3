import type { Attack, AttackReport } from './attack.ts';
import type { AttackedService, Start } from './service.ts';

/** An attack, and its row in the table in SECURITY.md. */
export interface Scenario extends Start {
  /** A sentence in the imperative that describes the attack. */
  readonly name: string;
  /** A description of the limits that bound the effect. */
  readonly bound: string;
  /** The settings that bound the effect. */
  readonly settings: readonly string[];
  /** The maximum cost for other callers. */
  readonly cost: string;
  /** The program that the attack requires, and its Debian package. */
  readonly needs?: readonly [program: string, debianPackage: string];
  /**
   * Prepares `folder`, for example with a database. Returns environment variables for the service.
   */
  prepare?(
    folder: string,
  ): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** Returns the attack on this service. */
  attack(target: Target): Promise<Attack> | Attack;
  /** What the attacker sends and receives before the attack ends. */
  readonly atLeast: Partial<
    Record<'opened' | 'closed' | 'sentBytes' | 'receivedBytes' | 'answers' | 'succeeded', number>
  >;
  /**
   * The number of descriptors that may stay open after the attack, for database connections that
   * the service closes later.
   */
  readonly pooledConnections?: number;
  /** Whether another caller creates TLD entries during the attack. */
  readonly writes?: boolean;
  /** Returns violations of further bounds. Called once, at the end of the attack. */
  problems?(report: AttackReport, service: AttackedService): Promise<string[]> | string[];
}

/** A service before an attack. */
export interface Target {
  readonly service: AttackedService;
  /** Creates a token with this role in a project and returns it. */
  token(role: 'admin' | 'member' | 'reader', projectId?: string): Promise<string>;
}
