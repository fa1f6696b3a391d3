import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Live } from '../live.ts';
import { Failure, NotLive } from './notices.tsx';
import { Later } from './text.tsx';

/** Sets the title of the tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Tsigil`;
  }, [title]);
}

interface Crumb {
  readonly label: string;
  readonly href: string;
}

interface PageHeadProps {
  readonly title: ComponentChildren;
  readonly crumb?: Crumb;
  readonly children?: ComponentChildren;
}

/** The heading of a page, with its actions. */
export function PageHead({ title, crumb, children }: PageHeadProps) {
  return (
    <div class="head">
      <div>
        {crumb === undefined ? null : (
          <p class="crumbs">
            <a href={crumb.href}>{crumb.label}</a>
            <span aria-hidden="true">/</span>
          </p>
        )}
        <h1 tabIndex={-1}>{title}</h1>
      </div>
      <div class="row">{children}</div>
    </div>
  );
}

/**
 * Returns a page before what it shows is there. This is no component, so that the heading, which has
 * the focus, stays when the rest follows.
 */
export function reading(props: {
  title: string;
  crumb?: Crumb;
  live: Live<unknown>;
  what: string;
}) {
  const { title, crumb, live, what } = props;
  return (
    <>
      <PageHead title={title} {...(crumb === undefined ? {} : { crumb })} />
      {live.error === undefined ? (
        <Later>
          <div class="panel" aria-hidden="true">
            <p class="muted">Reading {what}…</p>
          </div>
        </Later>
      ) : (
        <Failure error={live.error} what={what} retry={live.reload} />
      )}
    </>
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
        live.error === undefined ? (
          <Later>
            <p class="muted">…</p>
          </Later>
        ) : (
          <Failure error={live.error} what={title.toLowerCase()} retry={live.reload} />
        )
      ) : (
        <>
          <NotLive error={live.error} asOf={live.asOf} reload={live.reload} />
          {children(live.data)}
        </>
      )}
    </section>
  );
}
