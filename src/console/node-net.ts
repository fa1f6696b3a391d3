import { domainToASCII } from './node-url.ts';

/** What the parts of the domain in the console use of `node:net`, for browsers. No zone indexes. */
export function isIP(text: string): 0 | 4 | 6 {
  if (text.includes(':'))
    return /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]/`) ? 6 : 0;
  // A URL writes all forms of an IPv4 address as four decimal numbers.
  return /^\d[\d.]*$/.test(text) && domainToASCII(text) === text ? 4 : 0;
}
