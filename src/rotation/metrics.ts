import { ageSeconds, type DatabaseGauge } from '../http/metrics/metric-table.ts';
import { LIFECYCLE_STATES, WAITING_REASONS } from '../resources/lineage.ts';
import type { RotationState } from './job.ts';

export const ROTATION_GAUGES: readonly DatabaseGauge<RotationState>[] = [
  {
    name: 'tsigil_tsigkeys',
    help: `Keys by their state: ${LIFECYCLE_STATES.join(', ')}.`,
    labelNames: ['state'],
    valueOf: ({ states }) =>
      LIFECYCLE_STATES.map((state) => [{ state }, states.get(state) ?? 0] as const),
  },
  {
    name: 'tsigil_rotations_waiting',
    help: `Rotations of keys that cannot go on by themselves, by reason: ${WAITING_REASONS.join(', ')}.`,
    labelNames: ['reason'],
    valueOf: ({ waits }) =>
      WAITING_REASONS.map((reason) => [{ reason }, waits.get(reason)?.count ?? 0] as const),
  },
  {
    name: 'tsigil_rotations_waiting_seconds',
    help: 'How long the rotation that has waited longest has waited, by reason. 0 if none waits.',
    labelNames: ['reason'],
    valueOf: ({ waits }) =>
      WAITING_REASONS.map((reason) => [{ reason }, ageSeconds(waits.get(reason)?.since)] as const),
  },
  {
    name: 'tsigil_tsigkeys_used_after_retirement',
    help: 'Retired keys that a client still uses, until they are restored or destroyed.',
    valueOf: ({ used }) => used,
  },
  {
    name: 'tsigil_tsigkeys_expiring',
    help: 'Keys without successor that expire within a time: their own, or by tsigkeys.maxAgeDays.',
    labelNames: ['within'],
    valueOf: ({ expiring }) =>
      [...expiring].map(([days, count]) => [{ within: `${days}d` }, count] as const),
  },
  {
    name: 'tsigil_tsigkey_age_seconds_max',
    help: 'Age of the oldest secret of a key.',
    valueOf: ({ oldest }) => ageSeconds(oldest),
  },
];
