/** When the API last changed for its callers. */
const API_UPDATED = '2022-06-29T00:00:00Z';

/** Two names for one API: clients look for `v2`, and read from the current one's minor number which extensions to expect. */
export function versionDocument(base: string): object {
  const links = [
    { rel: 'self', href: `${base}/v2` },
    { rel: 'help', href: `${base}/docs` },
  ];
  return {
    versions: [
      { id: 'v2', status: 'SUPPORTED', updated: API_UPDATED, links },
      { id: 'v2.0', status: 'CURRENT', updated: API_UPDATED, links },
    ],
  };
}
