/** The mark of Tsigil. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="currentColor" />
      <g fill="none" stroke="var(--canvas)" stroke-width="2.6" stroke-linecap="round">
        <circle cx="16" cy="11.5" r="4.6" />
        <path d="M16 16.2V26M16 21.4h4M16 25.4h3" />
      </g>
    </svg>
  );
}
