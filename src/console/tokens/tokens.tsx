import type { ScreenProps } from '../shell/screen-props.ts';
import { AccessPage } from './access.tsx';
import { TokenList } from './token-list.tsx';
import { TokenPage } from './token-page.tsx';

export function Tokens({ path }: ScreenProps) {
  const [id] = path;
  if (id === undefined) return <TokenList />;
  return id === 'access' ? <AccessPage /> : <TokenPage key={id} id={id} />;
}
