/** HTML that is safe to send: everything that was put into it is escaped. */
export interface Markup {
  readonly html: string;
}

/** What may stand in a template: text, which is escaped, markup, which is not, and lists of both; nothing for absent parts. */
export type Part = string | number | Markup | undefined | readonly Part[];

/** Markup from a template literal whose values are escaped wherever they stand, in text and in quoted attributes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return { html: strings.map((string, index) => string + (index < parts.length ? render(parts[index]) : '')).join('') };
}

function render(part: Part): string {
  if (part === undefined) return '';
  if (typeof part === 'string' || typeof part === 'number') return escape(String(part));
  return 'html' in part ? part.html : part.map(render).join('');
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
