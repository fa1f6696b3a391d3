/** What the console reads of the responses of the service. */

import type { Status as StatusResponse } from '../domain/actions/status.ts';
import type { TrailVerification } from '../domain/audit/trail.ts';
import type { NameServer as StoredNameServer } from '../domain/resources/name-server.ts';
import type { Token as StoredToken } from '../domain/resources/token.ts';

export type Status = StatusResponse;
export type NameServer = StoredNameServer;
export type Token = Omit<StoredToken, 'hash'>;
export type Verification = TrailVerification;

/** The tokens and roles that can read secrets. */
export interface Access {
  readonly tokens: readonly (Pick<
    Token,
    | 'id'
    | 'name'
    | 'roles'
    | 'pools'
    | 'zones'
    | 'keys'
    | 'nameservers'
    | 'addresses'
    | 'expires_at'
    | 'last_used_at'
  > & { readonly rights: readonly string[] })[];
  readonly roles: readonly { readonly role: string; readonly rights: readonly string[] }[];
}

export interface ConsoleSession {
  readonly id: string;
  readonly kind: 'token' | 'configured' | 'keystone';
  readonly credential_id: string;
  readonly name: string;
  readonly address: string | null;
  readonly agent: string | null;
  readonly created_at: string;
  readonly seen_at: string;
  readonly expires_at: string;
  readonly current: boolean;
}

export interface Pool {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly project_id: string | null;
  readonly attributes: Readonly<Record<string, string>>;
  readonly ns_records: readonly { readonly priority: number; readonly hostname: string }[];
  readonly created_at: string;
  readonly updated_at: string | null;
}

export interface OpeningKeys {
  readonly keys: readonly {
    readonly id: string;
    readonly name: string;
    readonly opens: readonly {
      readonly rights: readonly string[];
      readonly zones: 'all' | number;
    }[];
  }[];
  readonly more: number;
}

export interface Requirement {
  readonly requirement: string;
  readonly ok: boolean;
  readonly problem: string | null;
  readonly hint: string | null;
}

export interface Setup {
  readonly steps: readonly { readonly title: string; readonly text: string }[];
  readonly later: string;
  readonly more_zones: number;
}

export interface Removing {
  readonly deliveries: readonly {
    readonly name_server: string;
    readonly key_id: string;
    readonly key_name: string;
    readonly error: { readonly code: string; readonly message: string } | null;
  }[];
}

export interface Key {
  readonly id: string;
  readonly name: string;
  readonly algorithm: string;
  readonly scope: 'POOL' | 'ZONE';
  readonly resource_id: string;
  readonly created_at: string;
  readonly updated_at: string | null;
}

export interface KeyState {
  readonly id: string;
  readonly state: string;
  readonly weakness: readonly string[];
  readonly secret_set_at: string;
  readonly owner: string | null;
  readonly expires_at: string | null;
  readonly unused_since: string | null;
}

export interface Deliveries {
  readonly state: string;
  readonly servers: readonly {
    readonly name_server: string;
    readonly state: string;
    readonly verified_at: string | null;
    readonly attempts: number;
    readonly next_attempt_at: string | null;
    readonly error: { readonly code: string; readonly message: string } | null;
  }[];
}

export interface Uses {
  readonly servers: readonly {
    readonly name_server: string;
    readonly state: 'seen' | 'not_seen' | 'unknown';
    readonly since: string | null;
    readonly reason: string | null;
    readonly uses: readonly {
      readonly operation: string;
      readonly outcome: string;
      readonly address: string;
      readonly last_at: string;
      readonly count: number;
    }[];
  }[];
}

/** A rotation that waits, with the key that it replaces. */
export interface Waiting {
  readonly id: string;
  readonly name: string;
  readonly reason:
    'not_verified' | 'unconfirmed' | 'unknown_consumers' | 'in_use' | 'referenced' | 'manual';
  readonly who: readonly string[];
}

export interface LifecycleKey {
  readonly id: string;
  readonly name: string;
  readonly algorithm: string;
  readonly state: 'active' | 'spreading' | 'switching' | 'draining' | 'retired';
  readonly created_at: string;
  readonly verified_at: string | null;
  readonly retire_at: string | null;
  readonly expires_at: string | null;
  readonly successor_id: string | null;
  readonly waiting: Omit<Waiting, 'id' | 'name'> | null;
}

export interface Lifecycle {
  readonly handle: string;
  readonly owner: string | null;
  readonly purpose: string | null;
  readonly consumers: readonly { readonly name: string; readonly address: string | null }[];
  readonly keys: readonly LifecycleKey[];
}

export interface Grants {
  readonly grants:
    | readonly { readonly rights: readonly string[]; readonly zones: 'all' | readonly string[] }[]
    | null;
}

export interface AuditRecord {
  readonly seq: number;
  readonly at: string;
  readonly request_id: string | null;
  readonly actor_kind: string;
  readonly actor_id: string;
  readonly actor_name: string;
  readonly source: string | null;
  readonly action: string;
  readonly resource_type: string | null;
  readonly resource_id: string | null;
  readonly resource_name: string | null;
  readonly outcome: string;
  readonly detail: Readonly<Record<string, unknown>> | null;
  readonly batch: number | null;
}

export interface Zone {
  readonly id: string;
  readonly pool_id: string;
  readonly project_id: string;
  readonly name: string;
  readonly type: 'PRIMARY' | 'SECONDARY' | 'CATALOG';
  readonly status: string;
  readonly action: string;
  readonly serial: number;
  readonly created_at: string;
  readonly updated_at: string | null;
}

export interface Tld {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly created_at: string;
  readonly updated_at: string | null;
}
