import type { ComponentType } from 'preact';
import type { ScreenProps } from '../router.ts';

export type Screen = readonly [
  /** The first part of the path. */
  path: '' | 'keys' | 'zones' | 'tlds' | 'nameservers' | 'pools' | 'tokens' | 'audit',
  title: string,
  /** The right without which the screen is not shown. */
  right: string | undefined,
  load: () => Promise<ComponentType<ScreenProps>>,
];

const nameServers = async () => (await import('../nameservers/server-list.tsx')).NameServers;

/** The screens in the order of the navigation. */
export const SCREENS: readonly Screen[] = [
  ['', 'Overview', undefined, async () => (await import('../overview/overview.tsx')).Overview],
  ['keys', 'Keys', 'tsigkeys:list', async () => (await import('../keys/keys.tsx')).Keys],
  ['zones', 'Zones', 'zones:list', async () => (await import('../zones/zones.tsx')).Zones],
  ['tlds', 'Top-level domains', 'tlds:list', async () => (await import('../tlds/tlds.tsx')).Tlds],
  ['nameservers', 'Name servers', 'nameservers:list', nameServers],
  ['pools', 'Pools', 'pools:list', async () => (await import('../pools/pools.tsx')).Pools],
  [
    'tokens',
    'Tokens',
    'tokens:list',
    async () => (await import('../tokens/token-list.tsx')).Tokens,
  ],
  ['audit', 'Audit', 'audit:list', async () => (await import('../audit/audit.tsx')).Audit],
];
