import { Icon } from '../parts/icons.tsx';
import { pageOf, parts } from '../router.ts';
import { may } from '../session.ts';
import { SCREENS, type Screen } from './screens.ts';

/** The screens that the caller may see. */
export function shownScreens(): readonly Screen[] {
  return SCREENS.filter(({ right }) => right === undefined || may(right));
}

function Links({ screens }: { screens: readonly Screen[] }) {
  return (
    <>
      {screens.map(({ path, title, short, icon }) => (
        <a
          key={path}
          href={pageOf(...(path === '' ? [] : [path]))}
          aria-current={(parts.value[0] ?? '') === path ? 'page' : undefined}
        >
          <Icon name={icon} />
          <span class="wide-only">{title}</span>
          <span class="phone-only">{short ?? title}</span>
        </a>
      ))}
    </>
  );
}

export function Navigation() {
  return (
    <nav class="nav" aria-label="Screens">
      <Links screens={shownScreens()} />
    </nav>
  );
}

const ON_PHONE = 4;

/** The bar at the bottom of a phone. What has no room is behind More. */
export function BottomBar({ onMore }: { onMore(): void }) {
  const screens = shownScreens();
  const hasAll = screens.length <= ON_PHONE;
  return (
    <nav class="bottom" aria-label="Screens">
      <Links screens={hasAll ? screens : screens.slice(0, ON_PHONE)} />
      <button type="button" onClick={onMore}>
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}
