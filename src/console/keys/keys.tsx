import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Denied, Problem } from '../parts/notices.tsx';
import { PageHead } from '../parts/page.tsx';
import type { ScreenProps } from '../router.ts';
import { may } from '../session.ts';
import { KeyList } from './key-list.tsx';
import { KeyPage } from './key-page.tsx';

export function Keys({ path: [id] }: ScreenProps) {
  if (id === undefined) return <KeyList />;
  return id === 'import' ? <Import /> : <KeyPage key={id} id={id} />;
}

/** The page of the import, whose code no other page needs. */
function Import() {
  const [Content, setContent] = useState<ComponentType>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    if (may('tsigkeys:create'))
      import('./import-keys.tsx').then(({ ImportKeys }) => setContent(() => ImportKeys), setError);
  }, []);
  return (
    <>
      <PageHead title="Import keys" of="tsigkeys" />
      <div class="stack">
        <Denied right="tsigkeys:create" what="Importing keys" />
        {error === undefined ? null : <Problem error={error} />}
        {Content === undefined ? null : <Content />}
      </div>
    </>
  );
}
