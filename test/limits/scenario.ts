import type { Attack } from './attack.ts';
import type { AttackedService, Start } from './service.ts';

/** An attack of the table in SECURITY.md, which says what limits it. */
export interface Scenario extends Start {
  /** A sentence in the imperative that describes the attack. */
  readonly name: string;
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
  /** Whether another caller creates TLD entries during the attack. */
  readonly writes?: boolean;
}

/** A service before an attack. */
export interface Target {
  readonly service: AttackedService;
  /** Creates a token with this role in a project and returns it. */
  token(role: 'admin' | 'member' | 'reader', projectId?: string): Promise<string>;
}
