import type { ComponentType } from 'preact';
import type { IconName } from '../parts/icons.tsx';
import type { ScreenProps } from './screen-props.ts';

export interface Screen {
  /** The first part of its path. */
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  /** The right without which it is not shown. */
  readonly right?: string;
  load(): Promise<ComponentType<ScreenProps>>;
}

/** The screens in the order of the navigation. */
export const SCREENS: readonly Screen[] = [
  {
    path: '',
    title: 'Overview',
    icon: 'overview',
    load: async () => (await import('../overview/overview.tsx')).Overview,
  },
  {
    path: 'keys',
    title: 'Keys',
    icon: 'keys',
    right: 'tsigkeys:list',
    load: async () => (await import('../keys/keys.tsx')).Keys,
  },
  {
    path: 'zones',
    title: 'Zones',
    icon: 'zones',
    right: 'zones:list',
    load: async () => (await import('../zones/zones.tsx')).Zones,
  },
  {
    path: 'tlds',
    title: 'Top-level domains',
    icon: 'tlds',
    right: 'tlds:list',
    load: async () => (await import('../tlds/tlds.tsx')).Tlds,
  },
  {
    path: 'nameservers',
    title: 'Name servers',
    icon: 'nameservers',
    right: 'nameservers:list',
    load: async () => (await import('../nameservers/nameservers.tsx')).NameServers,
  },
  {
    path: 'pools',
    title: 'Pools',
    icon: 'pools',
    right: 'pools:list',
    load: async () => (await import('../pools/pools.tsx')).Pools,
  },
  {
    path: 'tokens',
    title: 'Tokens',
    icon: 'tokens',
    right: 'tokens:list',
    load: async () => (await import('../tokens/tokens.tsx')).Tokens,
  },
  {
    path: 'sessions',
    title: 'Sessions',
    icon: 'sessions',
    load: async () => (await import('../sessions/sessions.tsx')).Sessions,
  },
  {
    path: 'audit',
    title: 'Audit',
    icon: 'audit',
    right: 'audit:list',
    load: async () => (await import('../audit/audit.tsx')).Audit,
  },
];
