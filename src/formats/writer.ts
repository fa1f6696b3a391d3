import { ALGORITHM_NAMES } from '../dns/algorithms.ts';
import type { Key } from './key.ts';

/** The primary server from which a secondary transfers: an IPv4 or IPv6 address and a port. */
export interface Primary {
  readonly host: string;
  readonly port: number;
  /** Without it, the text contains an example as a comment. In lower case, without the final dot. */
  readonly zone: string | undefined;
}

interface FormatDescription {
  /** The program that accepts this format, for help and documentation. */
  readonly consumer: string;
  readonly extension: string;
  readonly algorithms: readonly string[];
  /**
   * Returns the configuration of a secondary server that transfers from `primary` with a valid,
   * canonical key, and accepts its NOTIFY messages. Only formats of name servers have it.
   */
  writeSecondary?(key: Key, primary: Primary): string;
}

/** An export format whose files hold one key each. */
export interface KeyWriter extends FormatDescription {
  /** Returns the text for a key. The key must be valid and canonical. */
  write(key: Key): string;
}

/** An export format whose files hold any number of keys. */
export interface KeyListWriter extends FormatDescription {
  /** Returns the text for at least one key. The keys must be valid and canonical. */
  writeAll(keys: readonly Key[]): string;
}

export type ExportFormat = KeyWriter | KeyListWriter;

export function holdsSeveral(format: ExportFormat): format is KeyListWriter {
  return 'writeAll' in format;
}

export const EVERY_ALGORITHM: readonly string[] = ALGORITHM_NAMES;

/** Every algorithm except hmac-md5, which newer libraries do not support. */
export const WITHOUT_MD5: readonly string[] = EVERY_ALGORITHM.filter(
  (algorithm) => algorithm !== 'hmac-md5',
);

/**
 * Returns text in double quotes, as a JSON string. YAML and Python accept JSON strings. Name server
 * configurations accept JSON strings of the characters that names and secrets may contain.
 */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

export function lines(...texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}

export function comments(...texts: readonly string[]): string {
  return lines(...texts.map((text) => `# ${text}`));
}

/** The values need no quotes, because none contains a special character. */
export function environmentFile(
  comment: string,
  variables: Readonly<Record<string, string>>,
): string {
  return lines(
    `# ${comment}`,
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
  );
}

/** What a secondary adds for a zone. Without a zone, an example as comments. */
export function secondaryZone(
  { zone }: Pick<Primary, 'zone'>,
  linesOf: (zone: string) => readonly string[],
): string {
  return zone === undefined
    ? comments('In each zone:', ...linesOf('example.org'))
    : lines(...linesOf(zone));
}
