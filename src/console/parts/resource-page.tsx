import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Live } from '../live.ts';
import { pageOf } from '../router.ts';
import { definitionOf, may } from '../session.ts';
import { Denied, NotLive } from './notices.tsx';
import { PageHead, reading, useTitle } from './page.tsx';
import { Name, PAGES, visible } from './text.tsx';

interface ResourcePageProps<T> {
  readonly collection: string;
  readonly live: Live<T>;
  readonly mayDelete?: boolean;
  children(resource: T): ComponentChildren;
  /** Draws the dialog that changes the resource. */
  edit(resource: T, close: () => void): ComponentChildren;
  /** Draws the dialog that deletes the resource. */
  remove(resource: T, close: () => void): ComponentChildren;
}

/** The page of a resource, with what can be done to it. */
export function ResourcePage<T extends { readonly name: string }>(props: ResourcePageProps<T>) {
  const { collection, live, mayDelete = true, children, edit, remove } = props;
  const [layer, setLayer] = useState<'edit' | 'remove'>();
  const { data: resource } = live;
  const { singular = '', label = '' } = definitionOf(collection) ?? {};
  useTitle(visible(resource?.name ?? label));
  const crumb = { label, href: pageOf(PAGES[collection] ?? '') };
  if (resource === undefined)
    return reading({ title: label, crumb, live, what: `the ${singular}` });
  const close = () => setLayer(undefined);
  return (
    <>
      <PageHead title={<Name text={resource.name} isWhole />} crumb={crumb}>
        {may(`${collection}:update`) ? (
          <button type="button" class="button" onClick={() => setLayer('edit')}>
            Edit
          </button>
        ) : null}
        {mayDelete && may(`${collection}:delete`) ? (
          <button type="button" class="button" onClick={() => setLayer('remove')}>
            Delete…
          </button>
        ) : null}
        <Denied right={`${collection}:update`} what={`Changing a ${singular}`} />
        <Denied right={`${collection}:delete`} what={`Deleting a ${singular}`} />
      </PageHead>
      <div class="stack">
        <NotLive {...live} />
        {children(resource)}
      </div>
      {layer === 'edit' ? edit(resource, close) : null}
      {layer === 'remove' ? remove(resource, close) : null}
    </>
  );
}
