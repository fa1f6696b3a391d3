import { existsSync } from 'node:fs';
import { isMet } from './tools.ts';

/** The path of the Public Suffix List on Debian. */
export const PUBLIC_SUFFIX_LIST = '/usr/share/publicsuffix/public_suffix_list.dat';

/** Returns whether the Public Suffix List is installed, as `isMet` does. */
export function hasPublicSuffixList(): boolean {
  return isMet(() => existsSync(PUBLIC_SUFFIX_LIST), {
    name: 'publicsuffix',
    absence: `${PUBLIC_SUFFIX_LIST} does not exist`,
    debianPackage: 'publicsuffix',
  });
}
