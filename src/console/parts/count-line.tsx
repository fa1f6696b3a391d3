import type { ComponentChildren } from 'preact';
import type { Row, Rows } from '../rows.ts';
import { NotLive } from './notices.tsx';
import { count } from './text.tsx';

/** How many rows a list has, and whether it is live. */
export function CountLine<T extends Row>(props: {
  readonly list: Rows<T>;
  readonly words: readonly [one: string, many: string];
  readonly children?: ComponentChildren;
}) {
  const { list, words, children } = props;
  const { rows, total, hasMore, isLoaded, error, asOf, reload } = list;
  return (
    <div class="count-line" role="status">
      {isLoaded ? (
        <span>
          {total === undefined && hasMore
            ? `${rows.length.toLocaleString('en')} loaded, more follow`
            : count(total ?? rows.length, ...words)}
        </span>
      ) : null}
      {isLoaded ? <NotLive error={error} asOf={asOf} reload={reload} /> : null}
      {children}
    </div>
  );
}
