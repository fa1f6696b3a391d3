const STEPS = [
  ['Describe it', 'Program, address and pool.'],
  ['Configure it', 'The lines to run and to paste on its host.'],
  ['See it live', 'Tsigil verifies it by itself, again and again.'],
] as const;

/** The way to a name server that is live, and where the person is on it. */
export function SetUpSteps({ at }: { at: number }) {
  return (
    <ol class="steps">
      {STEPS.map(([title, text], index) => (
        <li
          class={`step ${index < at ? 'done' : index === at ? 'now' : ''}`}
          key={title}
          aria-current={index === at ? 'step' : undefined}
        >
          <b>
            {index + 1} {title} {index < at ? '✓' : ''}
          </b>
          <span>{text}</span>
        </li>
      ))}
    </ol>
  );
}
