import { effect, signal } from '@preact/signals';

const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const THEME = 'tsigil.theme';
const SHORTCUTS = 'tsigil.shortcuts';

/** The only two things that the console stores in the browser. */
export const theme = signal<Theme>(
  THEMES.find((each) => each === localStorage.getItem(THEME)) ?? 'system',
);
export const hasShortcuts = signal(localStorage.getItem(SHORTCUTS) !== 'off');

export function startPreferences(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    localStorage.setItem(THEME, theme.value);
  });
  effect(() => localStorage.setItem(SHORTCUTS, hasShortcuts.value ? 'on' : 'off'));
}

export function nextTheme(): Theme {
  return THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
}
