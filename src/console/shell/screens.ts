import type { ComponentType } from 'preact';
import { Audit } from '../audit/audit.tsx';
import { Keys } from '../keys/keys.tsx';
import { NameServers } from '../nameservers/server-list.tsx';
import { Overview } from '../overview/overview.tsx';
import { Pools } from '../pools/pools.tsx';
import { Tlds } from '../tlds/tlds.tsx';
import { Tokens } from '../tokens/token-list.tsx';
import { Zones } from '../zones/zones.tsx';
import type { ScreenProps } from '../router.ts';

export type Screen = readonly [
  /** The first part of the path. */
  path: string,
  title: string,
  /** The right without which the screen is not shown. */
  right: string | undefined,
  Content: ComponentType<ScreenProps>,
];

/** The screens in the order of the navigation. The console opens the first that the caller may see. */
export const SCREENS: readonly Screen[] = [
  ['', 'Overview', undefined, Overview],
  ['keys', 'Keys', 'tsigkeys:list', Keys],
  ['zones', 'Zones', 'zones:list', Zones],
  ['tlds', 'Top-level domains', 'tlds:list', Tlds],
  ['nameservers', 'Name servers', 'nameservers:list', NameServers],
  ['pools', 'Pools', 'pools:list', Pools],
  ['tokens', 'Tokens', 'tokens:list', Tokens],
  ['audit', 'Audit', 'audit:list', Audit],
];
