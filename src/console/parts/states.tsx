/** How a state looks: its shape, its colour, and what it means. */
const LOOKS: Readonly<Record<string, readonly [shape: string, look: string, words?: string]>> = {
  delivered: ['✓', 'ok'],
  live: ['✓', 'ok'],
  active: ['✓', 'ok'],
  success: ['✓', 'ok'],
  ACTIVE: ['✓', 'ok', 'active'],
  accepted: ['✓', 'ok'],
  pending: ['◷', 'busy'],
  PENDING: ['◷', 'busy', 'pending'],
  removing: ['◷', 'busy'],
  spreading: ['◷', 'busy'],
  switching: ['◷', 'busy'],
  draining: ['◷', 'busy'],
  prepared: ['!', 'warn'],
  paused: ['–', 'off'],
  retired: ['–', 'off'],
  none: ['–', 'off', 'no name server'],
  held: ['!', 'warn'],
  blocked: ['!', 'warn'],
  warning: ['!', 'warn'],
  denied: ['!', 'warn'],
  undeliverable: ['✕', 'bad'],
  failed: ['✕', 'bad'],
  ERROR: ['✕', 'bad', 'error'],
  refused: ['✕', 'bad'],
  open: ['✕', 'bad', 'open: accepts unsigned requests'],
};

/** A state as a shape, a colour and a word. */
export function State({ state, words }: { state: string; words?: string }) {
  const [shape, look, usual] = LOOKS[state] ?? ['–', 'off'];
  return (
    <span class={`badge ${look}`}>
      <span class="shape" aria-hidden="true">
        {shape}
      </span>
      {words ?? usual ?? state}
    </span>
  );
}

const WEAK: Readonly<Record<string, string>> = {
  'hmac-md5': 'do not use',
  'hmac-sha1': 'weak',
};

export function Algorithm({ name }: { name: string }) {
  const weakness = WEAK[name];
  return (
    <span class="cell">
      <code>{name}</code>
      {weakness === undefined ? null : <span class="warn small"> ! {weakness}</span>}
    </span>
  );
}
