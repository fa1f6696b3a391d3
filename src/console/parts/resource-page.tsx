import type { ComponentChildren } from 'preact';
import type { Live } from '../live.ts';
import { wordOf } from '../session.ts';
import { Acts, type Act } from './acts.tsx';
import { History } from './history.tsx';
import { NotLive } from './notices.tsx';
import { PageHead, Reading } from './page.tsx';
import { listOf } from './text.tsx';

interface ResourcePageProps<T> {
  readonly collection: string;
  readonly live: Live<T>;
  /** The label of the act whose dialog is open at first. */
  readonly opened?: string | undefined;
  acts(resource: T): readonly (Act | false)[];
  /** Draws what stands above the columns. */
  children(resource: T): ComponentChildren;
  /** Draws the parts of the page that are read by themselves. The history follows them. */
  parts?(resource: T): ComponentChildren;
}

/** The page of a resource, with what can be done to it. */
export function ResourcePage<T extends { readonly id: string; readonly name: string }>(
  props: ResourcePageProps<T>,
) {
  const { collection, live, opened, acts, children, parts } = props;
  const { data: resource } = live;
  const word = wordOf(collection);
  return (
    <>
      <PageHead
        title={resource?.name ?? listOf(collection)}
        isName={resource !== undefined}
        of={collection}
      >
        {resource === undefined ? null : <Acts acts={acts(resource)} opened={opened} />}
      </PageHead>
      {resource === undefined ? (
        <Reading live={live} what={`the ${word}`} />
      ) : (
        <div class="stack">
          <NotLive {...live} />
          {children(resource)}
          <div class="columns">
            {parts?.(resource)}
            <History collection={collection} id={resource.id} />
          </div>
        </div>
      )}
    </>
  );
}
