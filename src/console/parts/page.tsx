import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Live } from '../live.ts';
import { pageOf } from '../router.ts';
import { Failure, NotLive } from './notices.tsx';
import { Later, listOf, Name, PAGES, visible } from './text.tsx';

interface PageHeadProps {
  readonly title: string;
  /** Whether the title is a name from others. */
  readonly isName?: boolean;
  /** The title of the tab, if it differs. */
  readonly tab?: string;
  /** The collection whose list it belongs to. */
  readonly of?: string;
  readonly children?: ComponentChildren;
}

/** The heading of a page, with its actions. It sets the title of the tab. */
export function PageHead({ title, isName = false, tab = title, of, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${visible(tab)} · Tsigil`;
  }, [tab]);
  return (
    <div class="head">
      <div>
        {of === undefined ? null : (
          <p class="crumbs">
            <a href={pageOf(PAGES[of] ?? '')}>{listOf(of)}</a>
            <span aria-hidden="true">/</span>
          </p>
        )}
        <h1 tabIndex={-1}>{isName ? <Name text={title} isWhole /> : visible(title)}</h1>
      </div>
      <div class="row">{children}</div>
    </div>
  );
}

/** What stands in the place of data that is not there yet. */
export function Reading({ live, what }: { live: Live<unknown>; what: string }) {
  if (live.error !== undefined)
    return <Failure error={live.error} what={what} retry={live.reload} />;
  return (
    <Later>
      <p class="muted">Reading {what}…</p>
    </Later>
  );
}

/** A part of a page, which reads its data itself. */
export function Section<T>(props: {
  title: string;
  live: Live<T>;
  children(data: T): ComponentChildren;
}) {
  const { title, live, children } = props;
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
      {live.data === undefined ? (
        <Reading live={live} what={title.toLowerCase()} />
      ) : (
        <>
          <NotLive {...live} />
          {children(live.data)}
        </>
      )}
    </section>
  );
}
