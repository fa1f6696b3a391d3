import type { Rewriter } from './rewrite.ts';
import { rewriteBind } from './rewrite-bind.ts';
import { rewriteKnot } from './rewrite-knot.ts';
import { rewriteNsd } from './rewrite-nsd.ts';

/** The rewriters of configurations, by the names of import formats. */
export const REWRITERS: Readonly<Record<string, Rewriter | undefined>> = {
  bind: rewriteBind,
  knot: rewriteKnot,
  nsd: rewriteNsd,
};
