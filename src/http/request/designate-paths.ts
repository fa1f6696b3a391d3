/** What Designate has at its paths under /v2 and Tsigil does not, by a segment of the path. */
const LACKING: ReadonlyMap<string, string> = new Map([
  ['recordsets', 'record sets'],
  ['transfer_requests', 'transfers of zones between projects'],
  ['transfer_accepts', 'transfers of zones between projects'],
  ['imports', 'imports of zones'],
  ['export', 'exports of zones'],
  ['exports', 'exports of zones'],
  ['abandon', "task 'abandon' for zones"],
  ['xfr', "task 'xfr' for zones: name servers transfer zones themselves"],
  ['pool_move', "task 'pool_move' for zones"],
  ['tasks', 'tasks for zones'],
  ['shares', 'shared zones'],
  ['blacklists', 'denylists of zone names: TLD entries restrict the names'],
  ['floatingips', 'PTR records of floating IPs'],
  ['reverse', 'PTR records of floating IPs'],
  ['quotas', "quotas for single projects: the setting 'zones.perProject' applies to all"],
  ['service_statuses', 'service statuses: GET /readyz states whether the service works'],
]);

/** Undefined if Designate has no such path. The last known segment of a path counts. */
export function lackingAt(url: string): string | undefined {
  const [path = ''] = url.split('?');
  const segments = path.split('/');
  const [collection = '', ...others] = segments.slice(segments.indexOf('v2') + 1);
  if (collection !== 'zones' && !LACKING.has(collection)) return undefined;
  return [collection, ...others]
    .map((segment) => LACKING.get(segment))
    .findLast((what) => what !== undefined);
}
