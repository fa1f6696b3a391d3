import type { ScreenProps } from '../shell/screen-props.ts';
import { NewServer } from './new-server.tsx';
import { ServerList } from './server-list.tsx';
import { ServerPage } from './server-page.tsx';
import { SetUp } from './set-up.tsx';

export function NameServers({ path }: ScreenProps) {
  const [id, part] = path;
  if (id === undefined) return <ServerList />;
  if (id === 'new') return <NewServer />;
  return part === 'setup' ? <SetUp key={id} id={id} /> : <ServerPage key={id} id={id} />;
}
