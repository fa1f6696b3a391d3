import type { Action } from './resources/operations/action.ts';
import { AUDIT_ACTIONS, type AuditDependencies } from './audit/actions.ts';
import { AGENT_ACTIONS, type AgentDependencies } from './delivery/actions/agents.ts';
import { DELIVERY_ACTIONS, type DeliveryDependencies } from './delivery/actions/servers.ts';
import { ENCRYPTION_ACTIONS, type EncryptionDependencies } from './secrets/actions.ts';
import { GRANT_ACTIONS } from './keys/actions/grants.ts';
import { keyExport } from './keys/actions/export.ts';
import { keyReveal } from './keys/actions/reveal.ts';
import { tldBulk } from './tlds/actions.ts';
import { OPENING_KEYS_ACTIONS } from './keys/actions/opening-keys.ts';
import { keyStatesAction } from './rotation/actions/states.ts';
import { ROTATION_STATES } from './rotation/key-states.ts';
import { keyUsesAction, type UsesDependencies } from './uses/actions.ts';
import { USE_STATES } from './uses/key-states.ts';
import { ROTATION_ACTIONS } from './rotation/actions/steps.ts';
import type { RotationDependencies } from './rotation/dependencies.ts';
import { SESSION_ACTIONS } from './tokens/actions/sessions.ts';
import { status, type StatusDependencies } from './status/actions.ts';
import { whoami } from './tokens/actions/whoami.ts';
import { zoneNameCheck } from './resources/actions/zone-name-check.ts';
import { nameServerSetup } from './delivery/actions/setup.ts';
import { limits, zoneNameServers } from './resources/actions/zone-queries.ts';

/** What the actions need together. */
export type AllDependencies = AgentDependencies &
  AuditDependencies &
  DeliveryDependencies &
  EncryptionDependencies &
  RotationDependencies &
  StatusDependencies &
  UsesDependencies;

export const ACTIONS: readonly Action<AllDependencies>[] = [
  keyExport,
  keyReveal,
  ...GRANT_ACTIONS,
  keyStatesAction<AllDependencies>([ROTATION_STATES, USE_STATES]),
  keyUsesAction,
  ...ROTATION_ACTIONS,
  tldBulk,
  zoneNameCheck,
  zoneNameServers,
  ...OPENING_KEYS_ACTIONS,
  limits,
  whoami,
  ...SESSION_ACTIONS,
  status,
  ...DELIVERY_ACTIONS,
  nameServerSetup,
  ...AGENT_ACTIONS,
  ...ENCRYPTION_ACTIONS,
  ...AUDIT_ACTIONS,
];
