/**
 * What a line of a log says that a key was used for. `request` is a request of any kind, and
 * `refresh` is a request by the name server itself, as a secondary.
 */
export const OPERATIONS = ['transfer', 'update', 'notify', 'query', 'refresh', 'request'] as const;

export type Operation = (typeof OPERATIONS)[number];

/**
 * `denied`: the client has the key, but the key lacks the right. `refused`: the name server lacks the
 * key, or the signature was not made with its secret.
 */
export const OUTCOMES = ['accepted', 'denied', 'refused'] as const;

type Outcome = (typeof OUTCOMES)[number];

/** The lines of one form. The groups are `key`, `address` and `port`; the last two are optional. */
interface LogLine {
  readonly pattern: RegExp;
  readonly operation: Operation;
  readonly outcome: Outcome;
}

export interface KeyLog {
  readonly lines: readonly LogLine[];
  /**
   * For each right, the operations that the log must have shown lately, if only of Tsigil's own
   * probes, so that it would show every use. Otherwise, why it never shows every use, as a clause.
   */
  readonly complete: Readonly<Record<'transfer' | 'update', readonly Operation[] | string>>;
  /** What to switch on, as a sentence. */
  readonly setup: string;
}

export interface LoggedUse {
  /** The name of the key as the program writes it. */
  readonly key: string;
  readonly operation: Operation;
  readonly outcome: Outcome;
  /** The address of the client. Empty if the line does not state it. */
  readonly address: string;
  readonly port: number | undefined;
}

/** The part of a pattern that matches an address, also a link-local one with its interface. */
export const ADDRESS = String.raw`\[?(?<address>[0-9a-fA-F.:]{2,45}?)(?:%[\w.-]+)?\]?`;

/** The maximum length of a line. No line that names a key is longer. */
const MAX_LINE = 4096;

export function readUse({ lines }: Pick<KeyLog, 'lines'>, line: string): LoggedUse | undefined {
  if (line.length > MAX_LINE) return undefined;
  for (const { pattern, operation, outcome } of lines) {
    const { key, address = '', port } = pattern.exec(line)?.groups ?? {};
    if (key !== undefined)
      return { key, operation, outcome, address, port: port === undefined ? port : Number(port) };
  }
  return undefined;
}
