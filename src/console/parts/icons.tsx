const PATHS = {
  '': 'M2.5 9.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 2.5h4v4h-4zM9.5 9.5h4v4h-4z',
  keys: 'M10.5 2.5a3 3 0 1 1-2.6 4.5L2.5 12.4v1.1h2.4v-1.8h1.6v-1.6l1.7-1.7A3 3 0 0 1 10.5 2.5z',
  zones:
    'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M2.5 8h11M8 2.5c3.4 3.6 3.4 7.4 0 11c-3.4-3.6-3.4-7.4 0-11',
  tlds: 'M2.5 13.5h11M4.5 13.5v-8l3.5-3l3.5 3v8M7 8h2M7 10.5h2',
  nameservers: 'M2.5 3.5h11v3.5h-11zM2.5 9h11v3.5h-11zM5 5.25h.01M5 10.75h.01',
  pools: 'M8 2.5l5.5 3L8 8.5l-5.5-3zM2.5 8.2L8 11.2l5.5-3M2.5 10.8L8 13.8l5.5-3',
  tokens: 'M3 4.5h10v7H3zM5.5 4.5v7M8 7.2h3M8 9.2h2',
  audit: 'M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2.5',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6a2.8 2.8 0 1 0 0-5.6M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7',
} as const;

type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of Tsigil. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="currentColor" />
      <g fill="none" stroke="var(--canvas)" stroke-width="2.6" stroke-linecap="round">
        <circle cx="16" cy="11.5" r="4.6" />
        <path d="M16 16.2V26M16 21.4h4M16 25.4h3" />
      </g>
    </svg>
  );
}
