import type { ScreenProps } from '../shell/screen-props.ts';
import { TokenList } from './token-list.tsx';
import { TokenPage } from './token-page.tsx';

export function Tokens({ path: [id] }: ScreenProps) {
  return id === undefined ? <TokenList /> : <TokenPage key={id} id={id} />;
}
