import type { ScreenProps } from '../shell/screen-props.ts';
import { ZoneList } from './zone-list.tsx';
import { ZonePage } from './zone-page.tsx';

export function Zones({ path }: ScreenProps) {
  const [id] = path;
  return id === undefined ? <ZoneList /> : <ZonePage key={id} id={id} />;
}
