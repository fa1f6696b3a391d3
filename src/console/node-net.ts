const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** What the parts of the domain in the console use of `node:net`, for browsers. No zone indexes. */
export function isIP(text: string): 0 | 4 | 6 {
  if (IPV4.test(text)) return 4;
  return isIPv6(text) ? 6 : 0;
}

export function isIPv6(text: string): boolean {
  return text.includes(':') && /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]/`);
}
