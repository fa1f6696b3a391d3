/** The rights that keys can have on a name server: transfers and dynamic updates (RFC 2136). */
export const RIGHTS = ['transfer', 'update'] as const;

export type Right = (typeof RIGHTS)[number];

export function listName(right: Right, zone?: string): string {
  return zone === undefined ? `tsigil-${right}` : `tsigil-${right}-${zone}`;
}
