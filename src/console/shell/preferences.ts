import { effect, signal } from '@preact/signals';

const THEMES = ['system', 'light', 'dark'] as const;
const KEY = 'tsigil.theme';

/** The only thing that the console stores in the browser. */
export const theme = signal(THEMES.find((each) => each === localStorage.getItem(KEY)) ?? THEMES[0]);

export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    localStorage.setItem(KEY, theme.value);
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? THEMES[0];
}
