import { ageSeconds, type DatabaseGauge } from '../http/metrics/metric-table.ts';
import type { EncryptionStatus } from './encryption-status.ts';

export const ENCRYPTION_GAUGES: readonly DatabaseGauge<EncryptionStatus>[] = [
  {
    name: 'tsigil_secrets_in_clear',
    help: 'Secrets in the database that are not encrypted.',
    valueOf: ({ clear_text: count }) => count,
  },
  {
    name: 'tsigil_secrets_unreadable',
    help: 'Secrets that a process could not decrypt and that no one has repaired since.',
    valueOf: ({ unreadable }) => unreadable,
  },
  {
    name: 'tsigil_data_key_age_seconds',
    help: 'Age of the data key that encrypts new secrets. 0 without encryption.',
    valueOf: ({ data_keys: keys }) => ageSeconds(keys.at(-1)?.created_at),
  },
];
