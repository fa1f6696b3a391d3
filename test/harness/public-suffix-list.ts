import { existsSync } from 'node:fs';
import { isMet } from './tools.ts';

/** Where Debian keeps the Public Suffix List. */
export const PUBLIC_SUFFIX_LIST = '/usr/share/publicsuffix/public_suffix_list.dat';

/** Tells whether the Public Suffix List is installed, and deals with its absence as `hasProgram` does. */
export function hasPublicSuffixList(): boolean {
  return isMet(existsSync(PUBLIC_SUFFIX_LIST), 'publicsuffix', `${PUBLIC_SUFFIX_LIST} is not there (Debian package publicsuffix)`);
}
