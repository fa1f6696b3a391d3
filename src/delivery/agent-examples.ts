import { EXAMPLE_ID } from '../core/error-entry.ts';
import { AGENT_FORMAT, type Answer, type Job } from './agent-protocol.ts';
import { NO_LOG } from './log-protocol.ts';

export const JOB_EXAMPLE: Job = {
  format: AGENT_FORMAT,
  tag: '5f2d6a9d'.repeat(8),
  fence: 42,
  name_server: {
    id: EXAMPLE_ID,
    name: 'ns1',
    driver: 'bind',
    address: '192.0.2.53',
    probe_zone: null,
  },
  stamps: ['9a1c6f0e2b7d4c58', '1f6a0d4b7c258e93'],
  state: {
    zones: ['example.org'],
    keys: [
      {
        id: EXAMPLE_ID,
        name: 'transfer-key',
        algorithm: 'hmac-sha256',
        secret: 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
        version: 1,
        access: { transfer: 'all' },
      },
    ],
    kept: [],
  },
  withheld: null,
  is_held: false,
  owned: [],
  further: [],
  is_applied: false,
  accepted: [EXAMPLE_ID],
  restricted: [],
  refused: [],
  taken: [],
  is_slow: false,
  changes: 1,
  retired: [],
  evidence: null,
  log_position: null,
};

export const ANSWER_EXAMPLE: Answer = {
  agent: 'ns1.example.org',
  fence: 42,
  error: null,
  not_begun: [],
  stamp: '9a1c6f0e2b7d4c58',
  is_foreign: false,
  changed: true,
  prepared: null,
  found_drift: false,
  problems: [],
  differences: [],
  verified: 1,
  verdicts: [],
  open: null,
  unknown_keys: null,
  key_references: null,
  ...NO_LOG,
  duration_ms: 180,
};
