import { useLoaded } from '../parts/loaded.ts';
import { Denied } from '../parts/notices.tsx';
import { PageHead } from '../parts/page.tsx';
import { may } from '../session.ts';
import type { ScreenProps } from '../router.ts';
import { KeyList } from './key-list.tsx';
import { KeyPage } from './key-page.tsx';

export function Keys({ path: [id] }: ScreenProps) {
  if (id === undefined) return <KeyList />;
  return id === 'import' ? <Import /> : <KeyPage key={id} id={id} />;
}

/** It reads configurations with code that no other page needs. */
const loadImport = async () => (await import('./import-keys.tsx')).ImportKeys;

function Import() {
  const Loaded = useLoaded(may('tsigkeys:create') ? loadImport : undefined);
  return (
    <>
      <PageHead title="Import keys" of="tsigkeys" />
      <div class="stack">
        <Denied right="tsigkeys:create" what="Importing keys" />
        {Loaded === undefined ? null : <Loaded />}
      </div>
    </>
  );
}
