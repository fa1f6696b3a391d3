/** HTML that is safe to send, because all values in it are escaped. */
export interface Markup {
  readonly html: string;
}

/**
 * A value in a template: text, which is escaped; markup, which is not; or a list of both. Undefined
 * for an absent part.
 */
export type Part = string | number | Markup | undefined | readonly Part[];

/**
 * Returns markup from a template literal. Escapes its values both in text and in quoted attributes.
 */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return {
    html: strings
      .map((string, index) => string + (index < parts.length ? render(parts[index]) : ''))
      .join(''),
  };
}

function render(part: Part): string {
  if (part === undefined) return '';
  if (typeof part === 'string' || typeof part === 'number') return escape(String(part));
  return 'html' in part ? part.html : part.map(render).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
