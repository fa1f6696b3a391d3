import { toAsciiName } from '../../domain/model/dns-name.ts';

/** A domain name, or a pattern of one, with its labels in ASCII form: `рф` gives `xn--p1ai`. What has no such form stays as it is. */
export function asciiName(name: string): string {
  return name
    .split('.')
    .map((label) => toAsciiName(label) ?? label)
    .join('.');
}

/** The same, with the final period that the names of zones have. */
export function absoluteAsciiName(name: string): string {
  const ascii = asciiName(name);
  return ascii === '' || ascii.endsWith('.') ? ascii : `${ascii}.`;
}
