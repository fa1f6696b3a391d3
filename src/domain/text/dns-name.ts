import { domainToASCII } from 'node:url';

/**
 * Domain names as text. This is the only file that knows what a label looks like, how two names compare,
 * and where the final dot goes (RFC 1035 section 2.3.1, RFC 5890 section 2.3.2.1, RFC 8552 for underscores).
 */

/** One label: 1 to 63 letters, digits, hyphens and underscores, no hyphen at either end. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;

/** The most characters a name may have, its dots included. */
export const MAX_NAME_LENGTH = 254;

/** The most characters a label may have. */
const MAX_LABEL_LENGTH = 63;

/** Tells whether `text` has more than `max` code points. Takes no longer for a longer text. */
function exceeds(text: string, max: number): boolean {
  return text.length > 2 * max || (text.length > max && Array.from(text).length > max);
}

/** Tells whether `text` has more characters than any name, so that nothing else about it needs to be said. */
export function isOverlongName(text: string): boolean {
  return exceeds(text, MAX_NAME_LENGTH);
}

/** Tells whether `text` is one label in ASCII form. */
export function isLabel(text: string): boolean {
  return LABEL.test(text);
}

/** Tells whether `text` is one or more labels joined by single dots, without a final dot, of at most 254 characters. */
export function isRelativeName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && text.split('.').every(isLabel);
}

/** Tells whether `text` is one or more labels, each followed by a dot, of at most 254 characters in all. */
export function isAbsoluteName(text: string): boolean {
  return text.endsWith('.') && text.length <= MAX_NAME_LENGTH && isRelativeName(text.slice(0, -1));
}

/** The names that a name in comparison form lies under, from itself to its last label: `a.b.c`, `b.c`, `c`. */
export function suffixes(name: string): string[] {
  const names = [name];
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1))
    names.push(name.slice(dot + 1));
  return names;
}

/** The last label of a name in comparison form: `c` of `a.b.c`. */
export function lastLabel(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/**
 * A name in comparison form with its labels turned round and each followed by a dot: `example.org` gives `org.example.`.
 * Names below another begin with the other's form, so they stand together in an index.
 */
export function treeForm(name: string): string {
  return `${name.split('.').reverse().join('.')}.`;
}

/** Tells whether a DNS message can carry the name: 255 octets with the length before each label and the root (RFC 1035 section 3.1). */
export function fitsInMessage(name: string): boolean {
  return name.length <= 253 && isRelativeName(name);
}

/** Drops one final dot: `example.org.` and `example.org` name the same node. */
export function withoutFinalDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/** The form in which names compare: lower case (RFC 4343), without the final dot. */
export function comparisonForm(name: string): string {
  return withoutFinalDot(name.toLowerCase());
}

/**
 * The ASCII form of a name that holds non-ASCII labels (`рф` gives `xn--p1ai`), or undefined if it has none.
 * Labels are converted one at a time, only where they need it and if nothing else is wrong with them: the platform's
 * converter reads a bare number as an IPv4 address and cuts at characters that end a host in a URL. Its time grows with the square
 * of the length, so overlong text is not converted: Punycode writes at least one character for each of the label (RFC 3492
 * section 3), so a name whose ASCII form has 254 characters has no more itself, nor has a label of 63.
 */
export function toAsciiName(name: string): string | undefined {
  if (isOverlongName(name)) return undefined;
  const labels = name.split('.').map((label) => (isLabel(label) ? label : toAsciiLabel(label)));
  return labels.every((label) => label !== undefined) ? labels.join('.') : undefined;
}

function toAsciiLabel(label: string): string | undefined {
  if (exceeds(label, MAX_LABEL_LENGTH)) return undefined;
  const ascii = label.replaceAll(/[^\0-\x7f]/g, '');
  if (ascii === label || !/^[a-z0-9_-]*$/i.test(ascii)) return undefined;
  const converted = domainToASCII(label);
  return converted.startsWith('xn--') && isLabel(converted) ? converted : undefined;
}
