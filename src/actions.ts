import type { Action } from './resources/operations/action.ts';
import { AUDIT_ACTIONS } from './audit/actions.ts';
import { AGENT_ACTIONS } from './delivery/agent-actions.ts';
import { DELIVERY_ACTIONS } from './delivery/actions.ts';
import { ENCRYPTION_ACTIONS } from './secrets/actions.ts';
import { GRANT_ACTIONS } from './keys/grant-actions.ts';
import { keyExport } from './keys/export-action.ts';
import { keyReveal } from './keys/reveal-action.ts';
import { tldBulk } from './tlds/actions.ts';
import { OPENING_KEYS_ACTIONS } from './keys/opening-actions.ts';
import { keyStatesAction } from './rotation/state-actions.ts';
import { keyUsesAction } from './uses/actions.ts';
import { ROTATION_ACTIONS } from './rotation/actions.ts';
import { SESSION_ACTIONS } from './tokens/session-actions.ts';
import { status } from './status/actions.ts';
import { whoami } from './tokens/actions.ts';
import { zoneNameCheck } from './resources/zone-name-check.ts';
import { nameServerSetup } from './delivery/setup-action.ts';
import { limits, zoneNameServers } from './resources/zone-queries.ts';

export const ACTIONS: readonly Action[] = [
  keyExport,
  keyReveal,
  ...GRANT_ACTIONS,
  keyStatesAction,
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
