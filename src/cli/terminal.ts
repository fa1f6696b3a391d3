/** Where text goes: a terminal, a pipe or a file. */
export interface Stream {
  readonly isTTY?: boolean;
  /** How wide the terminal is. */
  readonly columns?: number;
  write(text: string): unknown;
}

/** What a command has of the world: where it reads from, where it writes to, and what time it is. */
export interface Terminal {
  readonly environment: NodeJS.ProcessEnv;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly input: AsyncIterable<unknown> & { readonly isTTY?: boolean };
  readonly out: Stream;
  readonly err: Stream;
  /** Calls `stop` at the next Ctrl-C, instead of ending the program. Returns what ends that. */
  readonly onInterrupt: (stop: () => void) => () => void;
}

/**
 * A signal that the next Ctrl-C aborts, for work that then stops at a sensible point and says how far it got.
 * Until `release` is called a second Ctrl-C ends the program, and none does it before.
 */
export function catchInterrupt(terminal: Terminal): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, release: terminal.onInterrupt(() => controller.abort()) };
}
