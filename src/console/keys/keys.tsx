import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Denied, NotLoaded } from '../parts/notices.tsx';
import { PageHead } from '../parts/page.tsx';
import { pageOf } from '../router.ts';
import { may } from '../session.ts';
import type { ScreenProps } from '../router.ts';
import { KeyList } from './key-list.tsx';
import { KeyPage } from './key-page.tsx';

export function Keys({ path: [id] }: ScreenProps) {
  if (id === undefined) return <KeyList />;
  return id === 'import' ? <Import /> : <KeyPage key={id} id={id} />;
}

/** The page of the import. It reads configurations with code that no other page needs. */
function Import() {
  const [loaded, setLoaded] = useState<{ readonly Content: ComponentType }>();
  useEffect(() => {
    if (!may('tsigkeys:create')) return;
    import('./import-keys.tsx').then(
      ({ ImportKeys: Content }) => setLoaded({ Content }),
      () => setLoaded({ Content: NotLoaded }),
    );
  }, []);
  return (
    <>
      <PageHead title="Import keys" crumb={{ label: 'Keys', href: pageOf('keys') }} />
      <div class="stack">
        <Denied right="tsigkeys:create" what="Importing keys" />
        {loaded === undefined ? null : <loaded.Content />}
      </div>
    </>
  );
}
