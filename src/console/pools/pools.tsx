import type { ScreenProps } from '../shell/screen-props.ts';
import { PoolList } from './pool-list.tsx';
import { PoolPage } from './pool-page.tsx';

export function Pools({ path }: ScreenProps) {
  const [id] = path;
  return id === undefined ? <PoolList /> : <PoolPage key={id} id={id} />;
}
