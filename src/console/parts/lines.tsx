import type { ComponentChildren } from 'preact';
import { State } from './states.tsx';

/** A line with a state: what it is about, what is known of it, and what to do. */
export interface Line {
  readonly key: string;
  readonly state: string;
  readonly text: ComponentChildren;
  readonly detail?: ComponentChildren;
  readonly next?: ComponentChildren;
}

/** What has a state, one a line. */
export function Lines({ lines }: { lines: readonly Line[] }) {
  return (
    <ul>
      {lines.map(({ key, state, text, detail, next }) => (
        <li class="need" key={key}>
          <State state={state} words=" " />
          <span>{text}</span>
          {detail === undefined || detail === null || detail === false ? null : (
            <span class="detail">{detail}</span>
          )}
          {next}
        </li>
      ))}
    </ul>
  );
}
