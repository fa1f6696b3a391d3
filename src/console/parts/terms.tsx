import type { ComponentChildren } from 'preact';

/** Terms and what is known of each. A term of which nothing is known is left out. */
export function Terms(props: {
  rows: readonly (readonly [term: string, fact: ComponentChildren])[];
  children?: ComponentChildren;
}) {
  return (
    <dl class="facts">
      {props.rows.flatMap(([term, fact]) =>
        fact === undefined || fact === null
          ? []
          : [<dt key={term}>{term}</dt>, <dd key={`${term} fact`}>{fact}</dd>],
      )}
      {props.children}
    </dl>
  );
}
