import type { FastifyRequest } from 'fastify';

/** Returns whether a caller would rather get a page than JSON: a browser, and no program. */
export function prefersHtml({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const weights = weightsIn(headers.accept ?? '');
  const html = weights.get('text/html') ?? 0;
  const others = ['application/json', 'application/*', '*/*'].map((type) => weights.get(type) ?? 0);
  return html > Math.max(...others);
}

/** Returns the weights in a header such as Accept (RFC 9110 section 12.4.2). */
export function weightsIn(header: string): ReadonlyMap<string, number> {
  return new Map(
    header.split(',').map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((each) => each.startsWith('q='))?.slice(2);
      return [type, weight === undefined ? 1 : Number(weight) || 0];
    }),
  );
}
