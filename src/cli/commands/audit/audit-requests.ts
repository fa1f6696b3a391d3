import type { AuditBatch } from '../../../domain/audit/chain.ts';
import type { AuditRecord } from '../../../domain/audit/record.ts';
import { call, type Connection } from '../../service/client.ts';

/** The query parameters of a list. */
export type Parameters = readonly (readonly [name: string, value: string])[];

/** A page of records, and the marker of the next page. */
export interface RecordPage {
  readonly records: readonly AuditRecord[];
  readonly next: string | undefined;
}

/** Returns a page of records. Throws `CommandError`. */
export async function getRecords(
  connection: Connection,
  parameters: Parameters,
): Promise<RecordPage> {
  const { content, next } = await getPage(connection, '/v2/audit', parameters);
  return { records: content.records as AuditRecord[], next };
}

/** Returns a page of batches, and the marker of the next page. Throws `CommandError`. */
export async function getBatches(
  connection: Connection,
  parameters: Parameters,
): Promise<{ readonly batches: readonly AuditBatch[]; readonly next: string | undefined }> {
  const { content, next } = await getPage(connection, '/v2/audit/batches', parameters);
  return { batches: content.batches as AuditBatch[], next };
}

/** Returns the last batch. Throws `CommandError`. */
export async function getLastBatch(connection: Connection): Promise<AuditBatch | undefined> {
  return (await getBatches(connection, [['limit', '1']])).batches[0];
}

async function getPage(connection: Connection, path: string, parameters: Parameters) {
  const query = new URLSearchParams(
    parameters.map(([name, value]): [string, string] => [name, value]),
  ).toString();
  const content = await call(connection, 'GET', query === '' ? path : `${path}?${query}`);
  const link = (content.links as { readonly next?: string }).next;
  const next = link === undefined ? undefined : new URL(link).searchParams.get('marker');
  return { content, next: next ?? undefined };
}
