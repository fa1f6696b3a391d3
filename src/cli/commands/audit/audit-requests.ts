import type { AuditBatch } from '../../../domain/audit/chain.ts';
import type { AuditRecord } from '../../../domain/audit/record.ts';
import type { Kind } from '../../../domain/model/field.ts';
import { BATCH_PAGE, RECORD_PAGE } from '../../../domain/operations/audit-responses.ts';
import { callFor, type Connection } from '../../service/client.ts';

export type Parameters = readonly (readonly [name: string, value: string])[];

export interface RecordPage {
  readonly records: readonly AuditRecord[];
  readonly next: string | undefined;
}

export async function getRecords(
  connection: Connection,
  parameters: Parameters,
): Promise<RecordPage> {
  const { records, links } = await getPage(RECORD_PAGE, connection, '/v2/audit', parameters);
  return { records: [...records], next: markerOf(links) };
}

export async function getBatches(
  connection: Connection,
  parameters: Parameters,
): Promise<{ readonly batches: readonly AuditBatch[]; readonly next: string | undefined }> {
  const path = '/v2/audit/batches';
  const { batches, links } = await getPage(BATCH_PAGE, connection, path, parameters);
  return { batches: [...batches], next: markerOf(links) };
}

export async function getLastBatch(connection: Connection): Promise<AuditBatch | undefined> {
  return (await getBatches(connection, [['limit', '1']])).batches[0];
}

async function getPage<T>(
  page: Kind<T>,
  connection: Connection,
  path: string,
  parameters: Parameters,
): Promise<T> {
  return callFor(page, connection, 'GET', pathOf(path, parameters));
}

export function pathOf(path: string, parameters: Parameters): string {
  const query = new URLSearchParams(
    parameters.map(([name, value]): [string, string] => [name, value]),
  ).toString();
  return query === '' ? path : `${path}?${query}`;
}

function markerOf({ next }: { readonly next?: string }): string | undefined {
  return next === undefined ? undefined : (new URL(next).searchParams.get('marker') ?? undefined);
}
