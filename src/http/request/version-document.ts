/** The time of the last API change that affects callers. */
const API_UPDATED = '2022-06-29T00:00:00Z';

/**
 * Returns the version document, which lists one API under two ids. Clients look for `v2`, and infer
 * the available extensions from the minor number of the current version.
 */
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
