import type { ComponentType } from 'preact';
import type { IconName } from '../parts/icons.tsx';
import type { ScreenProps } from './screen-props.ts';

export interface Screen {
  /** The first part of its path. */
  readonly path: string;
  readonly title: string;
  readonly short?: string;
  readonly icon: IconName;
  /** The key after `g` that opens it. */
  readonly key: string;
  /** The right without which it is not shown. */
  readonly right?: string;
  /** The collection that the palette searches. */
  readonly collection?: string;
  load(): Promise<ComponentType<ScreenProps>>;
}

/** The screens in the order of the navigation. */
export const SCREENS: readonly Screen[] = [
  {
    path: '',
    title: 'Overview',
    icon: 'overview',
    key: 'o',
    load: async () => (await import('../overview/overview.tsx')).Overview,
  },
  {
    path: 'keys',
    title: 'Keys',
    icon: 'keys',
    key: 'k',
    right: 'tsigkeys:list',
    collection: 'tsigkeys',
    load: async () => (await import('../keys/keys.tsx')).Keys,
  },
  {
    path: 'zones',
    title: 'Zones',
    icon: 'zones',
    key: 'z',
    right: 'zones:list',
    collection: 'zones',
    load: async () => (await import('../zones/zones.tsx')).Zones,
  },
  {
    path: 'tlds',
    title: 'Top-level domains',
    short: 'Domains',
    icon: 'tlds',
    key: 't',
    right: 'tlds:list',
    load: async () => (await import('../tlds/tlds.tsx')).Tlds,
  },
  {
    path: 'nameservers',
    title: 'Name servers',
    short: 'Servers',
    icon: 'nameservers',
    key: 's',
    right: 'nameservers:list',
    collection: 'nameservers',
    load: async () => (await import('../nameservers/nameservers.tsx')).NameServers,
  },
  {
    path: 'pools',
    title: 'Pools',
    icon: 'pools',
    key: 'p',
    right: 'pools:list',
    collection: 'pools',
    load: async () => (await import('../pools/pools.tsx')).Pools,
  },
  {
    path: 'tokens',
    title: 'Tokens',
    icon: 'tokens',
    key: 'r',
    right: 'tokens:list',
    collection: 'tokens',
    load: async () => (await import('../tokens/tokens.tsx')).Tokens,
  },
  {
    path: 'sessions',
    title: 'Sessions',
    icon: 'sessions',
    key: 'i',
    load: async () => (await import('../sessions/sessions.tsx')).Sessions,
  },
  {
    path: 'audit',
    title: 'Audit',
    icon: 'audit',
    key: 'a',
    right: 'audit:list',
    load: async () => (await import('../audit/audit.tsx')).Audit,
  },
];
