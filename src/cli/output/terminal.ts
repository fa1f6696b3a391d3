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
  readonly input: AsyncIterable<unknown> & { readonly isTTY?: boolean; readonly readableEnded?: boolean };
  readonly out: Stream;
  readonly err: Stream;
  /** Calls `stop` at the next Ctrl-C, instead of ending the program. Returns what ends that. */
  readonly onInterrupt: (stop: () => void) => () => void;
}

/** How results are to look. */
export interface Look {
  /** Whether a person reads them: tables are drawn. */
  readonly decorated: boolean;
  readonly colours: boolean;
  /** The columns that a line may have. */
  readonly width: number;
}

/** How text for `stream` is to look. Colours need a terminal, and no `NO_COLOR` (https://no-color.org). */
export function lookOf(stream: Stream, environment: NodeJS.ProcessEnv): Look {
  const decorated = stream.isTTY === true;
  const colours = decorated && !environment.NO_COLOR && environment.TERM !== 'dumb';
  return { decorated, colours, width: stream.columns || Infinity };
}

/** `text` in bold type, where colours may be used. */
export function bold(text: string, { colours }: Pick<Look, 'colours'>): string {
  return colours ? `\x1b[1m${text}\x1b[22m` : text;
}

/** `text` in red, where colours may be used. */
export function red(text: string, { colours }: Pick<Look, 'colours'>): string {
  return colours ? `\x1b[31m${text}\x1b[39m` : text;
}

/**
 * A signal that the next Ctrl-C aborts, for work that then stops at a sensible point and says how far it got.
 * Until `release` is called a second Ctrl-C ends the program, and none does it before.
 */
export function catchInterrupt(terminal: Terminal): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, release: terminal.onInterrupt(() => controller.abort()) };
}
