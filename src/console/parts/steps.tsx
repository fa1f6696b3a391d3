import type { ComponentChildren } from 'preact';

type Look = 'done' | 'now' | 'failed' | 'open';

const SHAPES: Readonly<Record<Look, string>> = { done: '✓', now: '◷', failed: '✕', open: '–' };

export interface Step {
  readonly title: string;
  readonly look: Look;
  readonly text?: ComponentChildren;
}

/** Steps one after another, and how far they are. */
export function Steps({ steps }: { steps: readonly Step[] }) {
  return (
    <div role="status">
      <ol class="steps">
        {steps.map(({ title, look, text }) => (
          <li class={`step ${look}`} key={title}>
            <b>
              {SHAPES[look]} {title}
            </b>
            <span>{text}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
