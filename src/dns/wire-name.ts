/** Octets that are no valid DNS message, or values that do not fit into one. */
export class WireError extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'WireError';
  }
}

/** The maximum lengths of a label and of a name, in octets (RFC 1035 section 2.3.4). */
const MAX_LABEL = 63;
const MAX_NAME = 255;

/**
 * Encodes a domain name for a message, without compression (RFC 1035 section 3.1). The text may end
 * in a dot. `\.` and `\ddd` are escaped octets, as in zone files (section 5.1). Throws `WireError`.
 */
export function encodeName(text: string): Buffer {
  const labels = text === '.' || text === '' ? [] : labelsOf(text);
  const length = labels.reduce((sum, label) => sum + 1 + label.length, 1);
  if (length > MAX_NAME) throw new WireError('A name must have at most 255 octets');
  const name = Buffer.alloc(length);
  let position = 0;
  for (const label of labels) {
    if (label.length === 0 || label.length > MAX_LABEL)
      throw new WireError('A label must have 1 to 63 octets');
    position = name.writeUInt8(label.length, position);
    position += label.copy(name, position);
  }
  return name;
}

function labelsOf(text: string): Buffer[] {
  const labels = text.includes('\\')
    ? unescapedLabels(text)
    : text.split('.').map((label) => Buffer.from(label));
  if (labels.length > 1 && labels.at(-1)?.length === 0) labels.pop(); // the trailing dot
  return labels;
}

function unescapedLabels(text: string): Buffer[] {
  const labels: number[][] = [[]];
  for (const [part, decimal, escaped] of text.matchAll(/\\(\d{3})|\\(.)|[^]/gu)) {
    if (part === '.') labels.push([]);
    else
      labels
        .at(-1)
        ?.push(...(decimal === undefined ? Buffer.from(escaped ?? part) : [Number(decimal)]));
  }
  if (labels.flat().some((octet) => octet > 255))
    throw new WireError('An octet must be at most 255');
  return labels.map((label) => Buffer.from(label));
}

/** A decoded name: its text with a trailing dot, and the offset after it. */
interface DecodedName {
  readonly name: string;
  readonly end: number;
}

/**
 * Decodes the name at `offset` of `message`. Each compression pointer (RFC 1035 section 4.1.4) must
 * point further back than the previous pointer, so that decoding always ends. Throws `WireError`.
 */
export function decodeName(message: Buffer, offset: number): DecodedName {
  const labels: string[] = [];
  let octets = 1;
  let position = offset;
  let limit = offset;
  let end: number | undefined;
  for (;;) {
    const length = octetAt(message, position);
    if (length >= 0xc0) {
      const target = ((length & 0x3f) << 8) | octetAt(message, position + 1);
      if (target >= limit) throw new WireError('A compression pointer must point backwards');
      end ??= position + 2;
      position = limit = target;
    } else if (length > MAX_LABEL) {
      throw new WireError('A label has an unknown type');
    } else if (length === 0) {
      return { name: `${labels.join('.')}.`, end: end ?? position + 1 };
    } else {
      octets += length + 1;
      if (octets > MAX_NAME) throw new WireError('A name must have at most 255 octets');
      if (position + 1 + length > message.length)
        throw new WireError('The message ends inside a name');
      labels.push(labelText(message.subarray(position + 1, position + 1 + length)));
      position += length + 1;
    }
  }
}

/** Folds case for comparison and signatures (RFC 4343 section 2). Throws `WireError`. */
export function foldedName(name: string): string {
  return decodeName(encodeName(name), 0).name.toLowerCase();
}

function octetAt(message: Buffer, position: number): number {
  const octet = message[position];
  if (octet === undefined) throw new WireError('The message ends inside a name');
  return octet;
}

/** Printable characters except the dot and the backslash. */
const PLAIN = /^[!-\-/-[\]-~]*$/;

function labelText(label: Buffer): string {
  const plain = label.toString('latin1');
  if (PLAIN.test(plain)) return plain;
  let text = '';
  for (const octet of label) {
    const character = String.fromCharCode(octet);
    if (octet < 0x21 || octet > 0x7e) text += `\\${String(octet).padStart(3, '0')}`;
    else text += character === '.' || character === '\\' ? `\\${character}` : character;
  }
  return text;
}
