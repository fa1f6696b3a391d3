/** The pool that always exists. */
export const DEFAULT_POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
