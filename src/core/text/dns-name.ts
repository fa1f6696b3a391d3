import { domainToASCII } from 'node:url';

/**
 * Domain names as text. All rules about labels, comparison and the trailing dot are in this file.
 * The rules are from RFC 1035 section 2.3.1, RFC 5890 section 2.3.2.1, and RFC 8552 for
 * underscores.
 */

/** One label: 1 to 63 letters, digits, hyphens and underscores, with no hyphen at either end. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;

/** The maximum length of a name in characters, including dots. */
export const MAX_NAME_LENGTH = 254;

const MAX_LABEL_LENGTH = 63;

/** Compares code points, in a time that does not grow with the length of `text`. */
function exceeds(text: string, max: number): boolean {
  return text.length > 2 * max || (text.length > max && Array.from(text).length > max);
}

/** Returns whether `text` is longer than any name, so that no other check is needed. */
export function isOverlongName(text: string): boolean {
  return exceeds(text, MAX_NAME_LENGTH);
}

export function isLabel(text: string): boolean {
  return LABEL.test(text);
}

/** Labels joined by single dots, without a trailing dot, at most 254 characters. */
export function isRelativeName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && text.split('.').every(isLabel);
}

/** Labels, each followed by a dot, at most 254 characters. */
export function isAbsoluteName(text: string): boolean {
  return text.endsWith('.') && text.length <= MAX_NAME_LENGTH && isRelativeName(text.slice(0, -1));
}

/** From a name in comparison form to its last label: `a.b.c`, `b.c`, `c`. */
export function suffixes(name: string): string[] {
  const names = [name];
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1))
    names.push(name.slice(dot + 1));
  return names;
}

/** Returns the last label of a name in comparison form: `c` of `a.b.c`. */
export function lastLabel(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/**
 * Reverses the labels of a name in comparison form: `example.org` gives `org.example.`, a prefix of
 * the results for all names below it, which are therefore adjacent in an index.
 */
export function treeForm(name: string): string {
  return `${name.split('.').reverse().join('.')}.`;
}

/** At most 255 octets, with the length before each label and the root (RFC 1035 section 3.1). */
export function fitsInMessage(name: string): boolean {
  return name.length <= 253 && isRelativeName(name);
}

/** Removes one trailing dot: `example.org.` and `example.org` name the same node. */
export function withoutFinalDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/** Returns the comparison form of a name: lower case (RFC 4343), without the trailing dot. */
export function comparisonForm(name: string): string {
  return withoutFinalDot(name.toLowerCase());
}

/** An escape of RFC 1035 section 5.1, or another character. */
const WRITTEN = /\\(\d{3})|\\(\D)|([^\\])/gsy;

/**
 * Returns the comparison form of a name that a configuration may write with escapes: `k` of `\107`.
 * What only an escape can write keeps one, such as a dot within a label. A text with a faulty escape
 * stays as it is, so that the result is no name.
 */
export function nameForm(text: string): string {
  if (!text.includes('\\')) return comparisonForm(text);
  return readEscapes(text) ?? text.toLowerCase();
}

/** Returns whether an escape in a name is neither three digits up to 255 nor one character. */
export function hasFaultyEscape(text: string): boolean {
  return text.includes('\\') && readEscapes(text) === undefined;
}

function readEscapes(text: string): string | undefined {
  const parts: string[] = [];
  let end = 0;
  for (const [all, code, escaped = '', plain] of text.matchAll(WRITTEN)) {
    if (Number(code ?? 0) > 255) break;
    end += all.length;
    const character = code === undefined ? escaped : String.fromCharCode(Number(code));
    parts.push(plain ?? writtenForm(character));
  }
  if (end < text.length) return undefined;
  if (parts.at(-1) === '.') parts.pop();
  return parts.join('').toLowerCase();
}

function writtenForm(character: string): string {
  if (character === '.' || character === '\\') return `\\${character}`;
  if (/^[!-~]$/.test(character)) return character;
  return `\\${String(character.charCodeAt(0)).padStart(3, '0')}`;
}

/**
 * Returns the ASCII form of a name with non-ASCII labels, such as `xn--p1ai` for `рф`. Returns
 * undefined if the name has no ASCII form. Converts each label separately, and only if the ASCII
 * characters of the label are valid. The converter of Node.js reads a bare number as an IPv4
 * address. It also cuts the text at characters that end a host in a URL. The converter's time is
 * quadratic in the length, so this function does not convert overlong text. Punycode writes at
 * least one character for each input character (RFC 3492 section 3). A name is therefore never
 * longer than its ASCII form. The ASCII form has at most 254 characters, and 63 in each label.
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

/** Returns the name of a zone in comparison form as text: the root zone is a dot. */
export function zoneText(zone: string): string {
  return zone === '' ? '.' : zone;
}
