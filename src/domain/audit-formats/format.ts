import type { AuditRecord } from '../audit/record.ts';

/** A format of audit records for another program. */
export interface AuditFormat {
  /** The name of the format and the programs that read it, for help and documentation. */
  readonly description: string;
  /**
   * Returns a record as one line, without a line break. `version` is the version of this service.
   */
  write(record: AuditRecord, version: string): string;
}

/** Returns whether the recorded event succeeded. */
export function succeeded({ outcome }: AuditRecord): boolean {
  return outcome === 'success';
}

/**
 * Characters that end a line or that a terminal may interpret. These are controls (C0, DEL and C1),
 * line and paragraph separators, bidirectional controls, and interlinear annotations. The set
 * also includes lone surrogates, because UTF-8 cannot encode them.
 */
const UNPRINTABLE =
  /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/gu;

/**
 * Escapes each unprintable character as in JSON, for example as `\u001b`.
 */
export function escapeUnprintable(text: string): string {
  return text.replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns a value as JSON on one line, with printable characters only. */
export function printableJson(value: unknown): string {
  return escapeUnprintable(JSON.stringify(value));
}
