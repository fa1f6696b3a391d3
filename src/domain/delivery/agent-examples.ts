import { EXAMPLE_ID } from '../model/error-entry.ts';
import type { NameServer } from '../resources/name-server.ts';
import { etagOf } from './agent-pass.ts';
import { AGENT_FORMAT, type DesiredForAgent, type ObservedByAgent } from './agent-protocol.ts';

const ETAG = etagOf('5f2d6a9d'.repeat(8), 42);

const CHANGE_ID = '9a1c6f0e-2b7d-4c58-8e93-1f6a0d4b7c25';

const SERVER_EXAMPLE: NameServer = {
  id: EXAMPLE_ID,
  name: 'ns1',
  pool_id: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
  ...({ driver: 'bind', address: '192.0.2.53', rights: ['transfer'], delivery: 'agent' } as const),
  ...({ paused: false, probe_zone: null, description: null, state: 'live' } as const),
  keys_wanted: 1,
  keys_live: 0,
  applied_at: null,
  verified_at: null,
  pending_since: null,
  held: null,
  unknown_keys: [],
  attempts: 0,
  next_attempt_at: null,
  error_code: null,
  error: null,
  created_at: '2030-01-31T12:00:00.000000',
  updated_at: null,
};

export const DESIRED_EXAMPLE: DesiredForAgent = {
  format: AGENT_FORMAT,
  etag: ETAG,
  fence: 42,
  name_server: SERVER_EXAMPLE,
  applied_hash: null,
  probes: 'none',
  is_confirmed: false,
  refusals: 0,
  stamps: [],
  changes: [CHANGE_ID],
  zones: ['example.org'],
  keys: [
    {
      id: EXAMPLE_ID,
      name: 'transfer-key',
      algorithm: 'hmac-sha256',
      secret: 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
      version: 1,
      zones: null,
    },
  ],
  kept: [],
  undeliverable: [],
  deliveries: [],
};

export const OBSERVED_EXAMPLE: ObservedByAgent = {
  agent: 'ns1.example.org',
  etag: ETAG,
  fence: 42,
  completed: true,
  ...({ outcome: 'changed', state: 'live', error: null, keys_wanted: 1, keys_live: 1 } as const),
  applied: true,
  verified: true,
  probed_all: false,
  found_drift: false,
  refusals: 0,
  changes: [CHANGE_ID],
  deliveries: [{ key_id: EXAMPLE_ID, state: 'delivered', delivered_version: 1, error: null }],
  removed: [],
  next_ms: 60_000,
  duration_ms: 180,
};
