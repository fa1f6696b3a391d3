export interface Stream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** The address of a service on this machine, and the file with its first token. */
export interface ServiceDefaults {
  readonly url: string;
  readonly tokenFile: string;
}

export interface Terminal {
  readonly environment: NodeJS.ProcessEnv;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  readonly input: AsyncIterable<Buffer | string> & {
    readonly isTTY?: boolean;
    readonly readableEnded?: boolean;
    /** Disables the echo and the line editing of the terminal. */
    setRawMode?(raw: boolean): unknown;
  };
  readonly out: Stream;
  readonly err: Stream;
  /** Returns the service that is configured on this machine, or undefined if there is none. */
  readonly findService?: () => Promise<ServiceDefaults | undefined>;
  /**
   * Calls `stop` at the next Ctrl-C, or another signal that ends programs, instead of ending this
   * one. Returns a function that removes this handler.
   */
  readonly onInterrupt: (stop: () => void) => () => void;
}

export interface TextStyle {
  /** True on a terminal, where tables have borders. */
  readonly decorated: boolean;
  readonly colours: boolean;
  /** The maximum length of a line, in columns. */
  readonly width: number;
}

/**
 * Returns the style of text for `stream`. A terminal has colours unless `NO_COLOR` is set
 * (https://no-color.org) or `TERM` is `dumb`.
 */
export function textStyleOf(stream: Stream, environment: NodeJS.ProcessEnv): TextStyle {
  const decorated = stream.isTTY === true;
  const colours = decorated && !environment.NO_COLOR && environment.TERM !== 'dumb';
  return { decorated, colours, width: stream.columns || Infinity };
}

type Colours = Pick<TextStyle, 'colours'>;

export function bold(text: string, { colours }: Colours): string {
  return colours ? `\x1b[1m${text}\x1b[22m` : text;
}

export function red(text: string, { colours }: Colours): string {
  return colours ? `\x1b[31m${text}\x1b[39m` : text;
}

/** The marks of results on a terminal, with their colours. */
const MARKS = { good: ['✓', 32], bad: ['✗', 31] } as const;

/** Returns `text` after a mark on a terminal. `coloured` colours the result. */
export function marked(
  text: string,
  result: keyof typeof MARKS,
  { decorated }: Pick<TextStyle, 'decorated'>,
): string {
  return decorated ? `${MARKS[result][0]} ${text}` : text;
}

/** Returns `text` in the colour of the mark that `first` begins with. */
export function coloured(text: string, first: string, { colours }: Colours): string {
  const [, colour] = Object.values(MARKS).find(([mark]) => first.startsWith(`${mark} `)) ?? [];
  return colours && colour !== undefined ? `\x1b[${colour}m${text}\x1b[39m` : text;
}

/**
 * Returns a signal that the next Ctrl-C aborts. The command then stops cleanly and reports its
 * progress. Only a second Ctrl-C ends the program. After `release`, the next Ctrl-C ends it.
 */
export function catchInterrupt(terminal: Terminal): {
  readonly signal: AbortSignal;
  release(): void;
} {
  const controller = new AbortController();
  return { signal: controller.signal, release: terminal.onInterrupt(() => controller.abort()) };
}
