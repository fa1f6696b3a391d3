import type { Rewriter } from './rewrite.ts';
import { rewriteBind } from './bind/rewrite.ts';
import { rewriteKnot } from './knot/rewrite.ts';
import { rewriteNsd } from './nsd/rewrite.ts';

/** The rewriters of configurations, by the names of import formats. */
export const REWRITERS: Readonly<Record<string, Rewriter | undefined>> = {
  bind: rewriteBind,
  knot: rewriteKnot,
  nsd: rewriteNsd,
};
